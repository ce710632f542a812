//! Tools that a user interface shows specially: their arguments and their structured results.

mod input;
mod result;

pub use input::{
    AgentInput, AskUserQuestionInput, BashInput, EditInput, ExitPlanModeInput, GlobInput, GrepInput,
    InputEdit, MultiEditInput, NotebookEditInput, Question, QuestionOption, ReadInput, TaskCreateInput,
    TaskUpdateInput, TodoItem, TodoWriteInput, ToolInput, WebFetchInput, WebSearchInput, WriteInput,
};
pub use result::{
    AgentResult, AnswersResult, BashResult, FileChangeResult, FileReadResult, NotebookResult, PatchHunk,
    PlanResult, ReadFile, TaskCreatedResult, TaskListResult, TaskRecord, TaskUpdatedResult, TodoRecord,
    TodosResult, ToolUseResult,
};
