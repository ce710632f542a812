//! Tests of the scripted Messages API through its public interface.

#[cfg(test)]
mod connections;
