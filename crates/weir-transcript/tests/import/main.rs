//! Import of the CLI's own transcripts.

#[cfg(test)]
mod files;
#[cfg(test)]
mod odd_files;
