//! `tool_use_result`: the structured form of a tool's result, recognised by its members.

use crate::decode::object::{Field, Problems, wire_struct};
use crate::json::{JsonKind, Node, RawJson, Text};

/// The structured result of a tool.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ToolUseResult<'a> {
    /// A command has run.
    Bash(Box<BashResult<'a>>),
    /// A file was written or edited.
    FileChange(Box<FileChangeResult<'a>>),
    /// A file was read.
    FileRead(Box<FileReadResult<'a>>),
    /// A notebook was edited.
    Notebook(Box<NotebookResult<'a>>),
    /// A sub-agent was started, or has ended.
    Agent(Box<AgentResult<'a>>),
    /// The to-do list was replaced.
    Todos(TodosResult<'a>),
    /// A to-do item was added.
    TaskCreated(TaskCreatedResult<'a>),
    /// A to-do item was changed.
    TaskUpdated(Box<TaskUpdatedResult<'a>>),
    /// The to-do items were listed.
    TaskList(TaskListResult<'a>),
    /// The user has answered.
    Answers(AnswersResult<'a>),
    /// A plan was proposed.
    Plan(PlanResult<'a>),
    /// Only text, as for errors.
    Text(Text<'a>),
    /// Something that Weir has no type for.
    Other(RawJson<'a>),
    /// Something that looks like one of the above but does not match it.
    Mismatch {
        /// What does not match.
        reason: String,
        /// The result.
        json: RawJson<'a>,
    },
}

impl<'a> Field<'a> for ToolUseResult<'a> {
    /// Never fails: a result in a new shape does not make the whole line a mismatch.
    fn decode(node: Node<'a, '_>, _: &mut Problems) -> Option<Self> {
        if let Some(text) = node.text() {
            return Some(Self::Text(text));
        }
        if node.kind() != JsonKind::Object || node.is_opaque() {
            return Some(Self::Other(node.raw()));
        }
        let mut problems = Problems::default();
        let result = Self::by_members(node, &mut problems);
        Some(match result {
            Some(result) if problems.is_empty() => result,
            None if problems.is_empty() => Self::Other(node.raw()),
            _ => Self::Mismatch { reason: problems.into_reason(), json: node.raw() },
        })
    }
}

impl<'a> ToolUseResult<'a> {
    fn by_members(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        let has = |key: &str| node.get(key).is_some();
        if has("stdout") && has("stderr") {
            Field::decode(node, problems).map(Self::Bash)
        } else if has("structuredPatch") && has("filePath") {
            Field::decode(node, problems).map(Self::FileChange)
        } else if has("notebook_path") {
            Field::decode(node, problems).map(Self::Notebook)
        } else if has("agentId") {
            Field::decode(node, problems).map(Self::Agent)
        } else if has("newTodos") {
            Field::decode(node, problems).map(Self::Todos)
        } else if has("answers") && has("questions") {
            Field::decode(node, problems).map(Self::Answers)
        } else if has("taskId") && has("success") {
            Field::decode(node, problems).map(Self::TaskUpdated)
        } else if has("task") {
            Field::decode(node, problems).map(Self::TaskCreated)
        } else if has("tasks") {
            Field::decode(node, problems).map(Self::TaskList)
        } else if has("file") && has("type") {
            Field::decode(node, problems).map(Self::FileRead)
        } else if has("plan") {
            Field::decode(node, problems).map(Self::Plan)
        } else {
            None
        }
    }
}

wire_struct! {
    /// A command has run.
    BashResult {
        /// What it printed on its standard output.
        required stdout: Text<'a> = "stdout",
        /// What it printed on its standard error.
        required stderr: Text<'a> = "stderr",
        /// Whether it was interrupted.
        optional interrupted: bool = "interrupted",
        /// Whether its output is an image.
        optional is_image: bool = "isImage",
        /// The task that it became, if it continues in the background.
        optional background_task_id: Text<'a> = "backgroundTaskId",
        /// What its exit code means, if that is not simply success or failure.
        optional return_code_interpretation: Text<'a> = "returnCodeInterpretation",
        /// Path of its full output, if that was long.
        optional persisted_output_path: Text<'a> = "persistedOutputPath",
        /// Size of the full output.
        optional persisted_output_size: u64 = "persistedOutputSize",
    }
}

wire_struct! {
    /// A file was written or edited.
    FileChangeResult {
        /// The file.
        required file_path: Text<'a> = "filePath",
        /// `create` or `update` for a written file; absent for an edit.
        optional kind: Text<'a> = "type",
        /// The old contents; null for a new file.
        optional original_file: Text<'a> = "originalFile",
        /// The new contents, for a written file.
        optional content: Text<'a> = "content",
        /// The changes.
        list structured_patch: Vec<PatchHunk<'a>> = "structuredPatch",
        /// Whether the user changed the edit.
        optional user_modified: bool = "userModified",
    }
}

wire_struct! {
    /// A hunk of changed lines.
    PatchHunk {
        /// First line before the change.
        required old_start: u64 = "oldStart",
        /// Number of lines before the change.
        required old_lines: u64 = "oldLines",
        /// First line after the change.
        required new_start: u64 = "newStart",
        /// Number of lines after the change.
        required new_lines: u64 = "newLines",
        /// The lines, each with a space, a plus or a minus before it.
        required lines: Vec<Text<'a>> = "lines",
    }
}

wire_struct! {
    /// A file was read.
    FileReadResult {
        /// `text`, `image`, `notebook`, `pdf` and the like.
        required kind: Text<'a> = "type",
        /// The file.
        required file: ReadFile<'a> = "file",
    }
}

wire_struct! {
    /// A file that was read.
    ReadFile {
        /// The file.
        optional file_path: Text<'a> = "filePath",
        /// The contents.
        optional content: Text<'a> = "content",
        /// Number of lines that were read.
        optional num_lines: u64 = "numLines",
        /// The first line that was read.
        optional start_line: u64 = "startLine",
        /// Number of lines in the file.
        optional total_lines: u64 = "totalLines",
    }
}

wire_struct! {
    /// A notebook was edited.
    NotebookResult {
        /// The notebook.
        required notebook_path: Text<'a> = "notebook_path",
        /// The cell.
        optional cell_id: Text<'a> = "cell_id",
        /// `replace`, `insert` or `delete`.
        optional edit_mode: Text<'a> = "edit_mode",
        /// The new contents of the cell.
        optional new_source: Text<'a> = "new_source",
        /// The old contents of the cell.
        optional old_source: Text<'a> = "old_source",
        /// The old contents of the notebook.
        optional original_file: Text<'a> = "original_file",
        /// The new contents of the notebook.
        optional updated_file: Text<'a> = "updated_file",
        /// Why it failed.
        optional error: Text<'a> = "error",
    }
}

wire_struct! {
    /// A sub-agent was started, or has ended.
    AgentResult {
        /// The CLI's own id of the sub-agent.
        required agent_id: Text<'a> = "agentId",
        /// `completed`, `async_launched` and the like.
        optional status: Text<'a> = "status",
        /// Whether it continues in the background.
        optional is_async: bool = "isAsync",
        /// What it is for.
        optional description: Text<'a> = "description",
        /// The prompt of the sub-agent.
        optional prompt: Text<'a> = "prompt",
        /// The kind of sub-agent.
        optional agent_type: Text<'a> = "agentType",
        /// The model that it used.
        optional resolved_model: Text<'a> = "resolvedModel",
        /// How long it took.
        optional total_duration_ms: u64 = "totalDurationMs",
        /// Tokens of all kinds.
        optional total_tokens: u64 = "totalTokens",
        /// Number of tool calls.
        optional total_tool_use_count: u64 = "totalToolUseCount",
    }
}

wire_struct! {
    /// The to-do list was replaced.
    TodosResult {
        /// The list now.
        required new_todos: Vec<TodoRecord<'a>> = "newTodos",
    }
}

wire_struct! {
    /// A to-do item.
    TodoRecord {
        /// What is to be done.
        required content: Text<'a> = "content",
        /// `pending`, `in_progress` or `completed`.
        required status: Text<'a> = "status",
        /// Wording for while the item is in progress.
        optional active_form: Text<'a> = "activeForm",
    }
}

wire_struct! {
    /// A to-do item was added or looked up.
    TaskCreatedResult {
        /// The item; null if there is none.
        optional task: TaskRecord<'a> = "task",
    }
}

wire_struct! {
    /// The to-do items were listed.
    TaskListResult {
        /// The items.
        required tasks: Vec<TaskRecord<'a>> = "tasks",
    }
}

wire_struct! {
    /// A to-do item with an id.
    TaskRecord {
        /// Its id.
        required id: Text<'a> = "id",
        /// What is to be done, in a few words.
        optional subject: Text<'a> = "subject",
        /// The full description.
        optional description: Text<'a> = "description",
        /// `pending`, `in_progress` or `completed`.
        optional status: Text<'a> = "status",
    }
}

wire_struct! {
    /// A to-do item was changed.
    TaskUpdatedResult {
        /// Id of the item.
        required task_id: Text<'a> = "taskId",
        /// Whether the change succeeded.
        required success: bool = "success",
        /// Why the change failed.
        optional error: Text<'a> = "error",
    }
}

wire_struct! {
    /// The user has answered.
    AnswersResult {
        /// The questions.
        optional questions: RawJson<'a> = "questions",
        /// The answers: question to chosen label or labels.
        optional answers: RawJson<'a> = "answers",
    }
}

wire_struct! {
    /// A plan was proposed.
    PlanResult {
        /// The plan, in Markdown.
        optional plan: Text<'a> = "plan",
        /// Path of the plan file.
        optional file_path: Text<'a> = "filePath",
    }
}
