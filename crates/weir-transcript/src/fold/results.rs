//! `user` lines: tool results, prompts of sub-agents, echoes, and notes from the CLI.

use std::borrow::Cow;

use weir_wire::{
    BashResult, Content, ContentBlock, IdRef, OwnedJson, RawJson, TaskRecord, TaskUpdateInput, Text,
    TodoRecord, ToolInput, ToolResultBlock, ToolResultMeta, ToolUseId, ToolUseResult, UserMessage,
};

use super::messages::Attached;
use super::tools::Effect;
use super::unknown::bounded;
use super::{Fold, Sink};
use crate::diff;
use crate::time::stamp_milliseconds;
use crate::view::{Change, EntryId, Notice, Output, Todo, ToolDetail, ToolState, UnknownReason, UserSource};

impl Fold {
    pub(super) fn user(&mut self, line: &UserMessage<'_>, sink: &mut Sink<'_>) {
        self.line_time = line.timestamp.and_then(stamp_milliseconds);
        if let Some(parent) = line.parent_tool_use_id {
            self.agent_heard_of(&parent.to_id(), line.task_description, line.subagent_type, sink);
        }
        match &line.message.content {
            Content::Text(text) => self.user_text(line, text.to_str(), Attached::default(), sink),
            Content::Blocks(blocks) => {
                let mut text = String::new();
                let mut attached = Attached::default();
                // The structured form does not say which result it belongs to, so it is used only if there is
                // exactly one.
                let results = blocks.iter().filter(|block| matches!(block, ContentBlock::ToolResult(_)));
                let structured = line.tool_use_result.as_ref().filter(|_| results.count() == 1);
                for block in blocks {
                    match block {
                        ContentBlock::ToolResult(result) => {
                            let (parent, metas) = (line.parent_tool_use_id, line.tool_result_meta.as_slice());
                            self.tool_result(parent, metas, result, structured, sink);
                        }
                        ContentBlock::Text(block) => {
                            if !text.is_empty() {
                                text.push('\n');
                            }
                            text.push_str(&block.text.to_str());
                        }
                        ContentBlock::Image(_) => attached.images += 1,
                        ContentBlock::Document(_) => attached.documents += 1,
                        ContentBlock::Unknown { kind, json } => {
                            let parent = line.parent_tool_use_id;
                            self.unknown_part(UnknownReason::UnknownBlock, parent, *kind, None, *json, sink);
                        }
                        ContentBlock::Mismatch { kind, reason, json } => {
                            let (parent, detail) = (line.parent_tool_use_id, Some(reason.clone()));
                            self.unknown_part(
                                UnknownReason::BlockMismatch,
                                parent,
                                Some(*kind),
                                detail,
                                *json,
                                sink,
                            );
                        }
                        _ => {}
                    }
                }
                if !text.is_empty() || attached != Attached::default() {
                    self.user_text(line, Cow::Owned(text), attached, sink);
                }
            }
        }
    }

    fn user_text(
        &mut self,
        line: &UserMessage<'_>,
        text: Cow<'_, str>,
        attached: Attached,
        sink: &mut Sink<'_>,
    ) {
        if text.starts_with("[Request interrupted by user") {
            self.turns.interrupt();
            self.failed_by_interrupt(sink);
            self.add_notice(Notice::Interrupted, sink);
            return;
        }
        let printed = text
            .strip_prefix("<local-command-stdout>")
            .map(|rest| rest.strip_suffix("</local-command-stdout>").unwrap_or(rest));
        if let Some(printed) = printed {
            self.add_notice(Notice::CommandOutput { text: printed.to_owned() }, sink);
            return;
        }
        let source = match line.parent_tool_use_id {
            Some(_) => UserSource::Agent,
            None if line.is_replay == Some(true) => UserSource::Host,
            None => UserSource::Cli,
        };
        if source == UserSource::Host {
            return self.message_echoed(line.uuid, &text, attached, sink);
        }
        if let Some(parent) = line.parent_tool_use_id {
            self.agent_asked(&parent.to_id(), &text, sink);
        }
        self.add_user_entry(line.parent_tool_use_id, None, text.into_owned(), attached, source, sink);
    }

    /// The result of a tool, in a line of the agent with this parent.
    pub(super) fn tool_result(
        &mut self,
        parent: Option<IdRef<'_, ToolUseId>>,
        metas: &[ToolResultMeta<'_>],
        block: &ToolResultBlock<'_>,
        structured: Option<&ToolUseResult<'_>>,
        sink: &mut Sink<'_>,
    ) {
        let known = match block.tool_use_id {
            Some(id) => self.tools.get(&*id.text().to_str()).copied(),
            None => self.unnamed_result(parent),
        };
        // A result may arrive before its call: then the call fills in the rest later.
        let entry = known.unwrap_or_else(|| {
            let id = block.tool_use_id.map_or_else(|| self.unnamed_call(), |id| id.to_id());
            self.tool_announced(parent, &id, Text::default(), false, sink)
        });
        let is_first = self.tool(entry).is_some_and(|tool| tool.output.is_none());
        let output = block.content.as_ref().map(|content| self.content_output(content));
        let output = output.unwrap_or(Output { line: self.lines, ..Output::default() });
        let failed = block.is_error == Some(true);
        let state = if !failed {
            ToolState::Succeeded
        } else if self.was_denied(metas, entry) {
            ToolState::Denied
        } else if self.turns.is_interrupted(self.view.entry(entry).and_then(|entry| entry.turn)) {
            // Ended on purpose, so it is not reported as a failure.
            ToolState::Interrupted
        } else {
            self.turns.failed.push(entry);
            ToolState::Failed
        };
        self.request_settled(entry, sink);
        self.open_tools.retain(|open| *open != entry);
        let effect = match structured {
            Some(result) if !failed && is_first => self.structured_result(entry, result),
            None if !failed && is_first => self.effect_of_input(entry),
            _ => Effect::None,
        };
        let started_at = self.tool(entry).and_then(|tool| tool.started_at);
        let elapsed = started_at.zip(self.time()).map(|(start, end)| end - start);
        let change = Change::ToolEnded {
            entry,
            state,
            output,
            detail: effect.detail(),
            structured: structured.and_then(|result| self.kept_structured_result(result)),
            duration_ms: elapsed.and_then(|elapsed| u64::try_from(elapsed).ok()),
        };
        self.emit(change, sink);
        self.todos_decided(entry, failed, sink);
        match effect {
            Effect::File(path, difference) => self.file_changed(entry, path, difference, sink),
            Effect::Todos(items) if items != self.todos_of(entry) => self.set_todos(entry, items, sink),
            _ => {}
        }
        if let Some(ToolUseResult::Mismatch { reason, json }) = structured {
            let (reason, json) = (Some(reason.clone()), *json);
            self.unknown_part(UnknownReason::BlockMismatch, parent, None, reason, json, sink);
        }
        self.agent_answered(entry, structured, failed, sink);
    }

    /// The structured result, unless something else in the view covers it.
    fn kept_structured_result(&self, result: &ToolUseResult<'_>) -> Option<OwnedJson> {
        let json = match result {
            ToolUseResult::Other(json) => *json,
            ToolUseResult::Agent(result) => result.source.json(),
            ToolUseResult::TaskCreated(result) => result.source.json(),
            ToolUseResult::TaskUpdated(result) => result.source.json(),
            ToolUseResult::TaskList(result) => result.source.json(),
            _ => return None,
        };
        (json.bytes().len() <= self.options.output_limit).then(|| json.into())
    }

    fn was_denied(&self, metas: &[ToolResultMeta<'_>], entry: EntryId) -> bool {
        let Some(tool) = self.tool(entry) else {
            return false;
        };
        let rejected = metas.iter().filter(|meta| meta.id == tool.id).any(|meta| {
            let decision = meta.permission_decision.and_then(|decision| decision.get("decision"));
            decision.and_then(|decision| decision.as_text()).is_some_and(|decision| decision == "reject")
        });
        rejected || tool.state == ToolState::Denied
    }

    /// The CLI first reports a tool that an interrupt ended as failed, and reports the interrupt only
    /// afterwards.
    fn failed_by_interrupt(&mut self, sink: &mut Sink<'_>) {
        for entry in std::mem::take(&mut self.turns.failed) {
            self.settle_tool_as(entry, ToolState::Interrupted, sink);
        }
    }

    fn structured_result(&self, entry: EntryId, result: &ToolUseResult<'_>) -> Effect {
        match result {
            ToolUseResult::FileChange(change) => {
                Effect::File(change.file_path.to_str().into(), diff::from_result(change))
            }
            ToolUseResult::Notebook(notebook) => {
                Effect::File(notebook.notebook_path.to_str().into(), diff::from_notebook(notebook))
            }
            ToolUseResult::Bash(bash) => self.command_detail(bash),
            ToolUseResult::FileRead(read) => match read.file.file_path {
                Some(path) => Effect::Detail(ToolDetail::FileRead {
                    path: path.to_str().into(),
                    start_line: read.file.start_line,
                    lines: read.file.num_lines,
                    total_lines: read.file.total_lines,
                }),
                None => Effect::None,
            },
            ToolUseResult::Answers(result) => match self.tool(entry).map(|tool| &tool.detail) {
                Some(ToolDetail::Questions { questions, .. }) => Effect::Detail(ToolDetail::Questions {
                    questions: questions.clone(),
                    answers: result.answers.map(|answers| answers.to_value()),
                }),
                _ => Effect::None,
            },
            ToolUseResult::Plan(plan) => match self.tool(entry).map(|tool| &tool.detail) {
                Some(ToolDetail::Plan { text, file }) => Effect::Detail(ToolDetail::Plan {
                    text: plan.plan.map_or_else(|| text.clone(), |plan| plan.to_str().into()),
                    file: plan.file_path.map(|path| path.to_str().into()).or_else(|| file.clone()),
                }),
                _ => Effect::None,
            },
            ToolUseResult::Text(_) | ToolUseResult::Other(_) | ToolUseResult::Mismatch { .. } => {
                self.effect_of_input(entry)
            }
            _ => self.todos_after(entry, result).map_or(Effect::None, Effect::Todos),
        }
    }

    /// Details of a command beyond its output, if there are any.
    fn command_detail(&self, bash: &BashResult<'_>) -> Effect {
        let background_task = bash.background_task_id.map(|id| id.to_str().into());
        let output_file = bash.persisted_output_path.map(|path| path.to_str().into());
        let interrupted = bash.interrupted == Some(true);
        if bash.stderr.is_empty() && !interrupted && background_task.is_none() && output_file.is_none() {
            return Effect::None;
        }
        let stderr = bash.stderr.head(self.options.output_limit).to_str().into_owned();
        Effect::Detail(ToolDetail::Command { stderr, interrupted, background_task, output_file })
    }

    /// The to-do list after a result.
    fn todos_after(&self, entry: EntryId, result: &ToolUseResult<'_>) -> Option<Vec<Todo>> {
        let owned = |text: Option<Text<'_>>| text.map(|text| text.to_str().into_owned());
        let from_task = |task: &TaskRecord<'_>, active_form: Option<String>| Todo {
            id: Some(task.id.to_str().into()),
            text: owned(task.subject).unwrap_or_default(),
            status: owned(task.status).unwrap_or_else(|| "pending".into()),
            active_form,
        };
        let mut items = self.todos_of(entry);
        match result {
            ToolUseResult::Todos(todos) => {
                let item = |todo: &TodoRecord<'_>| Todo {
                    id: None,
                    text: todo.content.to_str().into(),
                    status: todo.status.to_str().into(),
                    active_form: owned(todo.active_form),
                };
                items = todos.new_todos.iter().map(item).collect();
            }
            ToolUseResult::TaskCreated(created) => {
                let new = created.task.as_ref()?;
                let active_form =
                    self.tool(entry).and_then(|tool| tool.input.as_raw().get("activeForm")?.as_text());
                let new = from_task(new, owned(active_form));
                // A lookup of an item that is already on the list has the same shape.
                if items.iter().all(|item| item.id != new.id) {
                    items.push(new);
                }
            }
            ToolUseResult::TaskUpdated(updated) if updated.success => {
                let input = self.tool(entry)?.input.as_raw();
                let ToolInput::TaskUpdate(input) = ToolInput::from_json("TaskUpdate", input) else {
                    return None;
                };
                apply_task_update(&mut items, &input);
            }
            ToolUseResult::TaskList(list) => {
                items = list.tasks.iter().map(|task| from_task(task, None)).collect();
            }
            _ => return None,
        }
        Some(items)
    }

    /// The output of a tool, cut to the limit and not unescaped.
    fn content_output(&self, content: &Content<'_>) -> Output {
        let blocks = match content {
            Content::Text(text) => return self.text_output(*text),
            Content::Blocks(blocks) => blocks,
        };
        if let [ContentBlock::Text(block)] = blocks.as_slice() {
            return self.text_output(block.text);
        }
        let mut joined = String::new();
        let mut output = Output { line: self.lines, ..Output::default() };
        for block in blocks {
            let room = self.options.output_limit.saturating_sub(joined.len());
            match block {
                ContentBlock::Text(block) => {
                    if !joined.is_empty() {
                        joined.push('\n');
                    }
                    joined.push_str(&block.text.head(room).to_str());
                    output.bytes += block.text.raw().len() as u64;
                }
                ContentBlock::Image(image) | ContentBlock::Document(image) => {
                    output.images += 1;
                    output.bytes += image.source.json().bytes().len() as u64;
                }
                ContentBlock::Unknown { json, .. } | ContentBlock::Mismatch { json, .. } => {
                    let bytes = json.bytes();
                    joined.push_str(&bounded(bytes, room));
                    output.bytes += bytes.len() as u64;
                }
                _ => {}
            }
        }
        output.text = joined.as_str().into();
        output
    }

    fn text_output(&self, text: Text<'_>) -> Output {
        let limit = self.options.output_limit;
        let bytes = text.raw().len() as u64;
        if text.raw().len() <= limit {
            return Output { text: text.into(), tail: None, bytes, line: self.lines, images: 0 };
        }
        // The end of long output often says what went wrong.
        let (head, tail) = (text.head(limit - limit / 4), text.tail(limit / 4));
        Output { text: head.into(), tail: Some(tail.into()), bytes, line: self.lines, images: 0 }
    }

    pub(super) fn raw_output(&self, json: RawJson<'_>) -> Output {
        let bytes = json.bytes();
        let shown = bounded(bytes, self.options.output_limit);
        Output {
            text: shown.as_str().into(),
            tail: None,
            bytes: bytes.len() as u64,
            line: self.lines,
            images: 0,
        }
    }
}

fn apply_task_update(items: &mut Vec<Todo>, update: &TaskUpdateInput) {
    if update.status.as_deref() == Some("deleted") {
        items.retain(|item| item.id.as_ref() != Some(&update.task_id));
    }
    for item in items.iter_mut().filter(|item| item.id.as_ref() == Some(&update.task_id)) {
        if let Some(status) = &update.status {
            item.status.clone_from(status);
        }
        if let Some(subject) = &update.subject {
            item.text.clone_from(subject);
        }
        if update.active_form.is_some() {
            item.active_form.clone_from(&update.active_form);
        }
    }
}
