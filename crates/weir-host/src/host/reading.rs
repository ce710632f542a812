//! Reading a session: its transcript page by page, its log, its changes to files, exports, search.

use weir_store::{Hit, ReadQuery, SearchQuery, SessionId};
use weir_wire::{MessageId, ToolUseId};

use super::Host;
use crate::costs::{CostQuery, CostReport, costs};
use crate::error::HostError;
use crate::export;
use crate::files::{self, FileDiff};
use crate::message::{Document, Image};
use crate::output;
use crate::pages::{Export, ExportFormat, LogEvent, LogPage, TranscriptPage};
use crate::transcript;
use crate::viewing::{self, FileBytes, FileTree, FileView, edited_lines};

/// Maximum number of entries on a page.
const MAX_ENTRIES: usize = 1000;

impl Host {
    /// What all sessions have cost, or one, by day and model. Days without costs have no rows.
    ///
    /// # Errors
    /// If the time is too long, or the logs cannot be read.
    pub async fn costs(&self, query: CostQuery, only: Option<SessionId>) -> Result<CostReport, HostError> {
        self.blocking(move |core| costs(core, query, only.as_ref())).await
    }

    /// A folder of the session's folder.
    ///
    /// # Errors
    /// If there is no such session or folder, or it leads out.
    pub async fn file_tree(&self, id: &SessionId, path: String) -> Result<FileTree, HostError> {
        let folder = self.allowed_folder(&self.info(id).await?.cwd).await?;
        self.blocking(move |_| viewing::tree(&folder, &path)).await
    }

    /// A file of the session's folder, with the lines that the agent has edited.
    ///
    /// # Errors
    /// If there is no such session or file, or it leads out.
    pub async fn file_view(&self, id: &SessionId, path: String) -> Result<FileView, HostError> {
        let folder = self.allowed_folder(&self.info(id).await?.cwd).await?;
        let session = id.clone();
        self.blocking(move |core| {
            let mut view = viewing::view(&folder, &path)?;
            if view.text.is_some() {
                let shown = folder.join(&view.path).canonicalize().ok();
                let diffs = files::diff(core, &session)?;
                let is_it = |diff: &&FileDiff| folder.join(&diff.path).canonicalize().ok() == shown;
                view.edited =
                    diffs.iter().find(is_it).map(|diff| edited_lines(&diff.unified)).unwrap_or_default();
            }
            Ok(view)
        })
        .await
    }

    /// A file of the session's folder as it is.
    ///
    /// # Errors
    /// If there is no such session or file, it leads out, or it is too large.
    pub async fn file_bytes(&self, id: &SessionId, path: String) -> Result<FileBytes, HostError> {
        let folder = self.allowed_folder(&self.info(id).await?.cwd).await?;
        self.blocking(move |_| viewing::bytes(&folder, &path)).await
    }

    /// Entries of the session, newest first, before this one.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    pub async fn transcript(
        &self,
        id: &SessionId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<TranscriptPage, HostError> {
        let limit = limit.clamp(1, MAX_ENTRIES);
        if let Some(live) = self.core.present(id)
            && let Some(page) = transcript::from_memory(&live.lock(), before, limit)
        {
            return Ok(page);
        }
        self.row(id).await?;
        let id = id.clone();
        self.blocking(move |core| transcript::from_log(core, &id, before, limit)).await
    }

    /// A part of the log, oldest first, after this event. Ask again after the last one while there are more.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    pub async fn log(&self, id: &SessionId, after: u64) -> Result<LogPage, HostError> {
        let page = self.core.options.store.read(ReadQuery::after(id.clone(), after)).await?;
        let events = page.events.into_iter().map(LogEvent::of).collect();
        Ok(LogPage { events, newest: page.newest, more: page.more })
    }

    /// The log after this event, an event a line.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn log_lines(&self, id: &SessionId, after: u64) -> Result<Export, HostError> {
        self.row(id).await?;
        Ok(export::start(&self.core, id.clone(), ExportFormat::Ndjson, after))
    }

    /// All changes of the session to files.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    pub async fn diff(&self, id: &SessionId) -> Result<Vec<FileDiff>, HostError> {
        self.row(id).await?;
        let id = id.clone();
        self.blocking(move |core| files::diff(core, &id)).await
    }

    /// The whole output of a tool call, of which the view keeps the beginning and the end.
    ///
    /// # Errors
    /// If there is no such session, or no such call in it.
    pub async fn tool_output(&self, id: &SessionId, tool: &ToolUseId) -> Result<String, HostError> {
        self.row(id).await?;
        let (id, tool) = (id.clone(), tool.clone());
        self.blocking(move |core| output::tool_output(core, &id, &tool)).await
    }

    /// The pictures in what a tool call gave back, of which the view keeps only how many there are.
    ///
    /// # Errors
    /// If there is no such session, or no such call in it.
    pub async fn tool_pictures(&self, id: &SessionId, tool: &ToolUseId) -> Result<Vec<Image>, HostError> {
        self.row(id).await?;
        let (id, tool) = (id.clone(), tool.clone());
        self.blocking(move |core| output::tool_pictures(core, &id, &tool)).await
    }

    /// The pictures that were sent with a message, of which the view keeps only how many there are.
    ///
    /// # Errors
    /// If there is no such session, or no such message with pictures in it.
    pub async fn message_pictures(
        &self,
        id: &SessionId,
        message: &MessageId,
    ) -> Result<Vec<Image>, HostError> {
        self.row(id).await?;
        let (id, message) = (id.clone(), message.clone());
        self.blocking(move |core| output::message_pictures(core, &id, &message)).await
    }

    /// The documents that were sent with a message, of which the view keeps only how many there are. What the model's API
    /// fetches from the web is not kept.
    ///
    /// # Errors
    /// If there is no such session, or no such message with documents in it.
    pub async fn message_documents(
        &self,
        id: &SessionId,
        message: &MessageId,
    ) -> Result<Vec<Document>, HostError> {
        self.row(id).await?;
        let (id, message) = (id.clone(), message.clone());
        self.blocking(move |core| output::message_documents(core, &id, &message)).await
    }

    /// Writes a session out, piece by piece.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn export(&self, id: &SessionId, format: ExportFormat) -> Result<Export, HostError> {
        self.row(id).await?;
        Ok(export::start(&self.core, id.clone(), format, 0))
    }

    /// Searches what was said in all sessions, the best first.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn search(&self, query: SearchQuery) -> Result<Vec<Hit>, HostError> {
        Ok(self.core.options.store.search(query).await?)
    }
}
