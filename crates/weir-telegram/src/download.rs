//! Fetches files that came with messages.

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};

use teloxide_core::net::Download as _;
use teloxide_core::requests::Requester as _;
use teloxide_core::types::FileId;
use tokio::io::AsyncWrite;
use weir_bridge::channel::RemoteFile;

use crate::bot::TelegramBot;

/// Maximum size of a file that a bot can download.
const MAX_FILE_BYTES: u64 = 20 << 20;

/// Fetches a file of at most `max_bytes`.
pub(crate) async fn download(
    bot: &TelegramBot,
    file: &RemoteFile,
    max_bytes: u64,
) -> Result<Vec<u8>, String> {
    if file.size.is_some_and(|size| size > MAX_FILE_BYTES) {
        return Err("bots cannot download files larger than 20 MB from Telegram".to_owned());
    }
    let api = bot.api();
    let found = api.get_file(FileId(file.reference.clone())).await.map_err(|error| bot.explain(&error))?;
    let mut received = Limited { data: Vec::new(), max_bytes, is_full: false };
    let fetched = api.download_file(&found.path, &mut received).await;
    // The size that Telegram reports may be wrong or missing.
    if received.is_full {
        return Err(format!("it is larger than {} MB", max_bytes >> 20));
    }
    fetched.map_err(|error| bot.explain(&error.into()))?;
    Ok(received.data)
}

/// Collects bytes up to a limit.
struct Limited {
    data: Vec<u8>,
    max_bytes: u64,
    is_full: bool,
}

impl AsyncWrite for Limited {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, Error>> {
        let size = u64::try_from(self.data.len() + bytes.len()).unwrap_or(u64::MAX);
        if size > self.max_bytes {
            self.is_full = true;
            return Poll::Ready(Err(Error::from(ErrorKind::FileTooLarge)));
        }
        self.data.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }
}
