//! Heads: small models from a vector to a number.
