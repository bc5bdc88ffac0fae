//! Numbers: special functions, samplers, optimisation, quadrature, linear algebra, transforms: what engines of several families compute with.

#![warn(missing_docs)]
