"""Weakly labelled data (Kumar, Packer and Koller, ICML 2012): mammals, cluttered digits, blood."""
