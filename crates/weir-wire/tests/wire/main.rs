//! Tests of the wire crate's public API.

#[cfg(test)]
mod captures;
#[cfg(test)]
mod decode;
#[cfg(test)]
mod lessons;
