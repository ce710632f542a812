//! Conversations for people to keep.

#[cfg(test)]
mod captures;
#[cfg(test)]
mod hostile;
