//! The CLI's own transcripts as history.

#[cfg(test)]
mod files;
#[cfg(test)]
mod odd_files;
