"""The loss trick: ridge weights of the training outputs, and a decoder for every loss.

``predict(x) = argmin over y of sum_i alpha_i(x) loss(y, y_i)``, with ``alpha(x) = (K + I/C)^-1
K_x`` (Ciliberto, Rudi and Rosasco, NIPS 2016; their n lambda is 1/C).
"""

from concordant.outputs.base import Decoder, Options
from concordant.outputs.candidates import comparison_constant
from concordant.outputs.names import DECODERS, find_decoder
from concordant.outputs.products import ProductKernel

__all__ = ["DECODERS", "Decoder", "Options", "ProductKernel", "comparison_constant", "find_decoder"]
