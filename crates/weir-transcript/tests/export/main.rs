//! Exports of sessions.

#[cfg(test)]
mod captures;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod order;
