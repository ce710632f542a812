//! The arguments of the common tools, as owned data that can be changed and sent back.
//!
//! A permission decision may carry changed arguments, so members without a field here are kept and written
//! back.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::json::RawJson;

/// Declares the enum of tool inputs together with the CLI's names of the tools.
macro_rules! tool_inputs {
    ($( $(#[$doc:meta])* $variant:ident($type:ident) = $($name:literal)|+, )*) => {
        /// A tool's arguments.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum ToolInput {
            $( $(#[$doc])* $variant($type), )*
            /// A tool that Weir has no type for.
            Other(Value),
            /// A known tool with arguments that do not match its type.
            Mismatch {
                /// What does not match.
                reason: String,
                /// The arguments.
                input: Value,
            },
        }

        impl ToolInput {
            /// Reads the arguments of the named tool.
            pub fn from_value(tool: &str, input: Value) -> Self {
                match tool {
                    $( $($name)|+ => match serde_json::from_value(input.clone()) {
                        Ok(typed) => Self::$variant(typed),
                        Err(error) => Self::Mismatch { reason: error.to_string(), input },
                    }, )*
                    _ => Self::Other(input),
                }
            }

            /// The arguments as JSON, members without a field included.
            pub fn to_value(&self) -> Value {
                match self {
                    $( Self::$variant(input) => serde_json::to_value(input).unwrap_or(Value::Null), )*
                    Self::Other(input) | Self::Mismatch { input, .. } => input.clone(),
                }
            }
        }

        $( impl From<$type> for ToolInput {
            fn from(input: $type) -> Self {
                Self::$variant(input)
            }
        } )*
    };
}

tool_inputs! {
    /// Runs a command.
    Bash(BashInput) = "Bash",
    /// Reads a file.
    Read(ReadInput) = "Read",
    /// Writes a file.
    Write(WriteInput) = "Write",
    /// Replaces text in a file.
    Edit(EditInput) = "Edit",
    /// Replaces several texts in a file.
    MultiEdit(MultiEditInput) = "MultiEdit",
    /// Changes a cell of a notebook.
    NotebookEdit(NotebookEditInput) = "NotebookEdit",
    /// Finds files by name.
    Glob(GlobInput) = "Glob",
    /// Finds text in files.
    Grep(GrepInput) = "Grep",
    /// Reads a web page.
    WebFetch(WebFetchInput) = "WebFetch",
    /// Searches the web.
    WebSearch(WebSearchInput) = "WebSearch",
    /// Starts a sub-agent.
    Agent(AgentInput) = "Task" | "Agent",
    /// Replaces the to-do list.
    TodoWrite(TodoWriteInput) = "TodoWrite",
    /// Adds a to-do item.
    TaskCreate(TaskCreateInput) = "TaskCreate",
    /// Changes a to-do item.
    TaskUpdate(TaskUpdateInput) = "TaskUpdate",
    /// Asks the user.
    AskUserQuestion(AskUserQuestionInput) = "AskUserQuestion",
    /// Proposes a plan.
    ExitPlanMode(ExitPlanModeInput) = "ExitPlanMode",
}

impl ToolInput {
    /// Reads the arguments of the named tool.
    ///
    /// ```
    /// use weir_wire::{RawJson, ToolInput};
    ///
    /// let json = RawJson::parse(br#"{"command":"ls","description":"list","shiny":true}"#)?;
    /// let ToolInput::Bash(mut input) = ToolInput::from_json("Bash", json) else { panic!("a known tool") };
    /// input.command.push_str(" -l");
    /// assert_eq!(ToolInput::from(input).to_value()["shiny"], true);
    /// # Ok::<(), weir_wire::JsonFault>(())
    /// ```
    pub fn from_json(tool: &str, input: RawJson<'_>) -> Self {
        Self::from_value(tool, input.to_value())
    }
}

/// Declares a tool's arguments: required members first, then those that may be absent.
macro_rules! input {
    (
        $(#[$doc:meta])*
        $name:ident {
            $( $(#[$field_doc:meta])* $field:ident : $type:ty $(= $key:literal)?, )*
            ;
            $( $(#[$optional_doc:meta])* $optional:ident : $optional_type:ty $(= $optional_key:literal)?, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $(
                $(#[$field_doc])*
                $(#[serde(rename = $key)])?
                pub $field: $type,
            )*
            $(
                $(#[$optional_doc])*
                $(#[serde(rename = $optional_key)])?
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $optional: Option<$optional_type>,
            )*
            /// Members that have no field here.
            #[serde(flatten)]
            pub extra: Map<String, Value>,
        }
    };
}

input! {
    /// Runs a command.
    BashInput {
        /// The command line.
        command: String,
        ;
        /// What it is for, in a few words.
        description: String,
        /// Timeout in milliseconds.
        timeout: Number,
        /// Whether the session continues while it runs.
        run_in_background: bool,
    }
}

input! {
    /// Reads a file.
    ReadInput {
        /// The file.
        file_path: String,
        ;
        /// The first line to read.
        offset: Number,
        /// How many lines to read.
        limit: Number,
    }
}

input! {
    /// Writes a file.
    WriteInput {
        /// The file.
        file_path: String,
        /// The new contents.
        content: String,
        ;
    }
}

input! {
    /// Replaces text in a file.
    EditInput {
        /// The file.
        file_path: String,
        /// The text to replace.
        old_string: String,
        /// The replacement.
        new_string: String,
        ;
        /// Whether every occurrence is replaced.
        replace_all: bool,
    }
}

input! {
    /// Replaces several texts in a file, one after the other.
    MultiEditInput {
        /// The file.
        file_path: String,
        /// The replacements.
        edits: Vec<InputEdit>,
        ;
    }
}

input! {
    /// One replacement.
    InputEdit {
        /// The text to replace.
        old_string: String,
        /// The replacement.
        new_string: String,
        ;
        /// Whether every occurrence is replaced.
        replace_all: bool,
    }
}

input! {
    /// Changes a cell of a notebook.
    NotebookEditInput {
        /// The notebook.
        notebook_path: String,
        /// The new contents of the cell.
        new_source: String,
        ;
        /// The cell.
        cell_id: String,
        /// `code` or `markdown`.
        cell_type: String,
        /// `replace`, `insert` or `delete`.
        edit_mode: String,
    }
}

input! {
    /// Finds files by name.
    GlobInput {
        /// The pattern.
        pattern: String,
        ;
        /// The folder to search.
        path: String,
    }
}

input! {
    /// Finds text in files.
    GrepInput {
        /// The regular expression.
        pattern: String,
        ;
        /// The file or folder to search.
        path: String,
        /// Pattern of the files to search.
        glob: String,
        /// `content`, `files_with_matches` or `count`.
        output_mode: String,
        /// Type of the files to search.
        file_type: String = "type",
        /// Whether to ignore case.
        ignore_case: bool = "-i",
        /// Maximum number of results.
        head_limit: Number,
    }
}

input! {
    /// Reads a web page.
    WebFetchInput {
        /// The address of the page.
        url: String,
        ;
        /// What to find out from it.
        prompt: String,
    }
}

input! {
    /// Searches the web.
    WebSearchInput {
        /// What to search for.
        query: String,
        ;
        /// Only these domains.
        allowed_domains: Vec<String>,
        /// Not these domains.
        blocked_domains: Vec<String>,
    }
}

input! {
    /// Starts a sub-agent.
    AgentInput {
        /// The prompt of the sub-agent.
        prompt: String,
        ;
        /// What it is for, in a few words.
        description: String,
        /// The kind of sub-agent.
        subagent_type: String,
        /// The model that it uses.
        model: String,
        /// Whether the session continues while it runs.
        run_in_background: bool,
    }
}

input! {
    /// Replaces the to-do list.
    TodoWriteInput {
        /// The list.
        todos: Vec<TodoItem>,
        ;
    }
}

input! {
    /// A to-do item.
    TodoItem {
        /// What is to be done.
        content: String,
        /// `pending`, `in_progress` or `completed`.
        status: String,
        ;
        /// Wording for while the item is in progress.
        active_form: String = "activeForm",
    }
}

input! {
    /// Adds a to-do item.
    TaskCreateInput {
        /// What is to be done, in a few words.
        subject: String,
        ;
        /// The full description.
        description: String,
        /// Wording for while the item is in progress.
        active_form: String = "activeForm",
    }
}

input! {
    /// Changes a to-do item.
    TaskUpdateInput {
        /// Id of the item to change.
        task_id: String = "taskId",
        ;
        /// `pending`, `in_progress`, `completed` or `deleted`.
        status: String,
        /// What is to be done, in a few words.
        subject: String,
        /// The full description.
        description: String,
        /// Wording for while the item is in progress.
        active_form: String = "activeForm",
    }
}

input! {
    /// Asks the user.
    AskUserQuestionInput {
        /// The questions.
        questions: Vec<Question>,
        ;
        /// The answers, in the arguments that are sent back: question to chosen label or labels.
        answers: Map<String, Value>,
    }
}

input! {
    /// A question with its choices.
    Question {
        /// The question.
        question: String,
        ;
        /// A label of a word or two for the question.
        header: String,
        /// The choices.
        options: Vec<QuestionOption>,
        /// Whether more than one choice is allowed.
        multi_select: bool = "multiSelect",
    }
}

input! {
    /// A choice.
    QuestionOption {
        /// The choice.
        label: String,
        ;
        /// What the choice means.
        description: String,
    }
}

input! {
    /// Proposes a plan. Newer versions keep the plan in a file and may leave it out here.
    ExitPlanModeInput {
        ;
        /// The plan, in Markdown.
        plan: String,
        /// Path of the plan file.
        plan_file_path: String = "planFilePath",
    }
}
