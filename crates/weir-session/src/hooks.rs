//! Hooks as functions of the program.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use weir_process::Capabilities;
use weir_wire::{HookInput, HookOutput, HookRegistration};

use crate::ask::{Ask, Decision};
use crate::handler::{Deciding, Handler};

/// A function that answers a hook.
pub(crate) type HookFunction =
    Arc<dyn Fn(HookInput) -> Pin<Box<dyn Future<Output = HookOutput> + Send>> + Send + Sync>;

/// Makes a function of this type.
pub(crate) fn function<F, O>(run: F) -> HookFunction
where
    F: Fn(HookInput) -> O + Send + Sync + 'static,
    O: Future<Output = HookOutput> + Send + 'static,
{
    Arc::new(move |input| Box::pin(run(input)))
}

/// Answers hooks with functions, and leaves everything else to the handler.
pub(crate) struct HookFunctions {
    pub(crate) functions: Vec<(String, HookFunction)>,
    pub(crate) otherwise: Option<Arc<dyn Handler>>,
}

impl Handler for HookFunctions {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        let function = match &ask {
            Ask::Hook(hook) => self.functions.iter().find(|(name, _)| *name == hook.callback),
            _ => None,
        };
        match (function, ask, &self.otherwise) {
            (Some((_, run)), Ask::Hook(hook), _) => {
                let output = run(HookInput::read(hook.input));
                Box::pin(async move { Decision::Value(output.await.to_value()) })
            }
            (_, ask, Some(handler)) => handler.decide(ask),
            (_, _, None) => {
                Box::pin(std::future::ready(Decision::Error("no one is there to decide".to_owned())))
            }
        }
    }
}

/// What a CLI would have to do for a hook and cannot, because it would ignore a part of it.
pub(crate) fn unsupported(hooks: &[HookRegistration], known: &Capabilities) -> Option<String> {
    hooks.iter().find_map(|hook| {
        let event = hook.event.as_str();
        if !known.has_hook(event) {
            return Some(format!("call a hook for the event {event}"));
        }
        if hook.timeout_s.is_some() && !known.has_introduction("hooks.timeout") {
            return Some("limit the time of a hook (timeout_s)".to_owned());
        }
        let fails_open = hook.blocks_on_failure && !known.has_introduction("hooks.onFailure");
        fails_open.then(|| "refuse what a hook guards when the hook fails (blocks_on_failure)".to_owned())
    })
}

/// Whether only some versions act on a hook as it is registered.
pub(crate) fn depend_on_version(hooks: &[HookRegistration]) -> bool {
    let oldest = Capabilities::of(weir_process::Version::new(1, 0, 124));
    unsupported(hooks, &oldest).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use weir_process::Version;
    use weir_wire::HookEvent;

    use crate::ask::HookRequest;

    #[tokio::test]
    async fn a_hook_is_answered_by_its_function_and_the_rest_by_the_handler() {
        let function =
            function(|input: HookInput| async move { HookOutput::block(input.event().to_string()) });
        let functions = HookFunctions {
            functions: vec![("mine".to_owned(), function)],
            otherwise: Some(Arc::new(|_: Ask| async { Decision::Error("other".to_owned()) })),
        };
        let hook = |callback: &str| {
            Ask::Hook(HookRequest {
                id: "r".into(),
                callback: callback.to_owned(),
                input: json!({"hook_event_name": "Stop"}),
                tool_use_id: None,
            })
        };
        let Decision::Value(output) = functions.decide(hook("mine")).await else { panic!() };
        assert_eq!(output, json!({"decision": "block", "reason": "Stop"}));
        assert_eq!(functions.decide(hook("another")).await, Decision::Error("other".to_owned()));
    }

    #[test]
    fn a_version_that_would_ignore_a_hook_is_refused_by_name() {
        let of = |hook: HookRegistration, version| unsupported(&[hook], &Capabilities::of(version));
        let (old, new) = (Version::new(2, 1, 9), Version::new(2, 1, 325));
        let batch = || HookRegistration::new(HookEvent::PostToolBatch, "a");
        assert!(of(batch(), old).unwrap().contains("PostToolBatch"));
        assert_eq!(of(batch(), new), None);
        let blocking =
            HookRegistration { blocks_on_failure: true, ..HookRegistration::new("PreToolUse", "a") };
        assert!(of(blocking.clone(), Version::new(2, 1, 197)).unwrap().contains("blocks_on_failure"));
        assert_eq!(of(blocking, new), None);
        assert!(!depend_on_version(&[HookRegistration::new(HookEvent::PreToolUse, "a")]));
        for event in HookEvent::ALL {
            assert_eq!(of(HookRegistration::new(event.clone(), "a"), new), None, "{event}");
        }
    }
}
