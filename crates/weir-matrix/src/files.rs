//! Files that came with a message.

use matrix_sdk::Client;
use matrix_sdk::media::{MediaFormat, MediaRequestParameters};
use weir_bridge::channel::{Incoming, IncomingBody, IncomingFile};

use crate::failure::explain;
use crate::read::Wanted;

/// No larger files are fetched.
const LARGEST_FILE: u64 = 20 << 20;

/// Fetches files, and decrypts them. What cannot be read is said in the message.
pub(crate) async fn fetch(
    client: &Client,
    incoming: &mut Incoming,
    wanted: Vec<Wanted>,
) -> Vec<IncomingFile> {
    let mut files = Vec::new();
    for wanted in wanted {
        match fetch_one(client, &wanted).await {
            Ok(data) => files.push(IncomingFile { name: wanted.name, media_type: wanted.media_type, data }),
            Err(reason) => say(incoming, &format!("[{} could not be read: {reason}]", wanted.name)),
        }
    }
    files
}

async fn fetch_one(client: &Client, wanted: &Wanted) -> Result<Vec<u8>, String> {
    let too_large = || "it has more than 20 MB".to_owned();
    if wanted.size > LARGEST_FILE {
        return Err(too_large());
    }
    let request = MediaRequestParameters { source: wanted.source.clone(), format: MediaFormat::File };
    let data = client.media().get_media_content(&request, false).await.map_err(|error| explain(&error))?;
    // The size above was only its sender's word.
    let is_small = u64::try_from(data.len()).is_ok_and(|size| size <= LARGEST_FILE);
    is_small.then_some(data).ok_or_else(too_large)
}

fn say(incoming: &mut Incoming, words: &str) {
    if let IncomingBody::Text { text, .. } = &mut incoming.body {
        *text = if text.is_empty() { words.to_owned() } else { format!("{text}\n\n{words}") };
    }
}
