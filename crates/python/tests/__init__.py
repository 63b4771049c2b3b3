"""Tests of the Python package: `python -m unittest discover`, with the package in the path and the folder of the test
models in `KEN_TEST_MODELS`. `cargo xtask test` runs them."""
