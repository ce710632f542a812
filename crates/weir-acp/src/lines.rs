//! Messages as lines of a byte stream, one JSON text a line. A line that is too long is skipped and answered as malformed.

use std::io;

use agent_client_protocol::{Agent, ConnectTo, Lines};
use futures_util::{sink, stream};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use crate::outbox::Outbox;

/// Longest line that is kept: a prompt with pictures.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// What stands for a line that is too long: not JSON, so that the editor gets a parse error.
const TOO_LONG: &str = "line too long";

/// The editor's end of a connection over these streams.
pub(crate) fn transport(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    outbox: Outbox,
) -> impl ConnectTo<Agent> {
    let incoming = stream::unfold(BufReader::new(input), |mut input| async move {
        let line = next_line(&mut input, MAX_LINE).await.transpose()?;
        Some((line, input))
    });
    let outgoing = sink::unfold((output, outbox), |(mut output, outbox), line: String| async move {
        let mut bytes = line.into_bytes();
        bytes.push(b'\n');
        output.write_all(&bytes).await?;
        output.flush().await?;
        outbox.taken();
        Ok::<_, io::Error>((output, outbox))
    });
    Lines::new(Box::pin(outgoing), Box::pin(incoming))
}

/// The next line without its end; nothing at the end of the input.
pub(crate) async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin),
    max: usize,
) -> io::Result<Option<String>> {
    let (mut line, mut is_too_long, mut is_any) = (Vec::new(), false, false);
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            break;
        }
        is_any = true;
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        if line.len() + part.len() > max {
            is_too_long = true;
            line = Vec::new();
        }
        if !is_too_long {
            line.extend_from_slice(part);
        }
        let used = end.map_or(available.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    if is_too_long {
        return Ok(Some(TOO_LONG.to_owned()));
    }
    Ok(is_any.then(|| String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], max: usize) -> Vec<String> {
        let mut input = BufReader::with_capacity(4, input);
        let mut found = Vec::new();
        while let Some(line) = next_line(&mut input, max).await.unwrap() {
            found.push(line);
        }
        found
    }

    #[tokio::test]
    async fn lines_are_bounded_and_the_stream_continues_after_a_long_one() {
        assert_eq!(lines(b"abc\r\n\n12345678901\nend", 10).await, ["abc", "", TOO_LONG, "end"]);
        assert_eq!(lines(b"", 10).await, Vec::<String>::new());
        assert_eq!(lines(b"\xff\n", 10).await, ["\u{fffd}"]);
    }
}
