//! The scripted Messages API from outside.

#[cfg(test)]
mod connections;
