//! A client for server-sent events that only looks for timestamps, and records their age.

use std::collections::HashMap;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::live::cli;

/// The text before a timestamp, in every form in which it can arrive.
const MARK: &[u8] = b"\"text\":\"";

/// Where to connect.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) address: String,
    pub(super) path: String,
    pub(super) token: String,
    /// The text that shows that the stream has begun.
    pub(super) begins_with: &'static str,
}

/// A stream that has begun.
#[derive(Debug)]
pub(super) struct Client {
    stream: TcpStream,
    /// The end of the data so far, which may be the beginning of something.
    rest: Vec<u8>,
}

impl Client {
    pub(super) async fn connect(place: &Place) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect(&place.address).await?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\n\
             Connection: close\r\n\r\n",
            place.path, place.address, place.token
        );
        stream.write_all(request.as_bytes()).await?;
        let mut client = Self { stream, rest: Vec::new() };
        while find(&client.rest, place.begins_with.as_bytes()).is_none() {
            anyhow::ensure!(client.stream.read_buf(&mut client.rest).await? > 0, "the stream ended early");
        }
        Ok(client)
    }

    /// Reads until its first event is complete. Returns the number of bytes.
    pub(super) async fn first_event(&mut self) -> anyhow::Result<usize> {
        while !self.rest.ends_with(b"\n\n\r\n") {
            anyhow::ensure!(self.stream.read_buf(&mut self.rest).await? > 0, "the stream ended early");
        }
        Ok(self.rest.len())
    }

    /// Reads to the end. Returns the age of each distinct timestamp on arrival.
    pub(super) async fn ages(mut self) -> anyhow::Result<Vec<u64>> {
        let mut ages = HashMap::new();
        let mut buffer = self.rest;
        loop {
            let came = cli::nanoseconds();
            let kept = note(&buffer, came, &mut ages);
            buffer.drain(..kept);
            match self.stream.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return Ok(ages.into_values().collect()),
                Ok(_) => {}
            }
        }
    }
}

/// Records the timestamps in the data. Returns how much of it was processed.
fn note(bytes: &[u8], came: u64, ages: &mut HashMap<u64, u64>) -> usize {
    let mut looked = 0;
    while let Some(place) = bytes.get(looked..).and_then(|rest| find(rest, MARK)) {
        let start = looked + place + MARK.len();
        let digits = bytes.get(start..).unwrap_or_default();
        let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == digits.len() {
            // The rest of it comes later.
            return looked + place;
        }
        let time = digits.get(..length).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        if let Some(time) = time {
            ages.entry(time).or_insert_with(|| came.saturating_sub(time));
        }
        looked = start + length;
    }
    looked.max(bytes.len().saturating_sub(MARK.len()))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|part| part == what)
}
