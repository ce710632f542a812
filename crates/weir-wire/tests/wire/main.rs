//! The wire crate from outside.

#[cfg(test)]
mod captures;
#[cfg(test)]
mod decode;
#[cfg(test)]
mod lessons;
