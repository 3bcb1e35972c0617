"""The experiments of Ciliberto, Rudi and Rosasco (NIPS 2016), and curves of its theorems."""
