//! The handler, the observer and the shared fold on our side of the pipe. Taken out of the options, which stay with the launcher.

use std::sync::Arc;

use crate::calls::Calls;
use crate::handler::Handler;
use crate::hooks::{HookFunction, HookFunctions};
#[cfg(feature = "mcp")]
use crate::mcp::{Factory, McpServers};
use crate::observer::Observer;
use crate::options::SessionOptions;
use crate::shared_fold::SharedFold;

/// What a session has from its options on our side of the pipe.
pub(crate) struct OurSide {
    pub(super) handler: Option<Arc<dyn Handler>>,
    hook_functions: Vec<(String, HookFunction)>,
    pub(super) observer: Option<Box<dyn Observer>>,
    pub(super) shared_fold: Option<SharedFold>,
    #[cfg(feature = "mcp")]
    served: Vec<(String, Factory)>,
}

impl OurSide {
    pub(crate) fn take(options: &mut SessionOptions) -> Self {
        Self {
            // The options keep their copy: whether there is a handler decides whether the CLI asks at all.
            handler: options.handler.clone(),
            hook_functions: std::mem::take(&mut options.hook_functions),
            observer: options.observer.take(),
            shared_fold: options.shared_fold.take(),
            #[cfg(feature = "mcp")]
            served: std::mem::take(&mut options.served),
        }
    }
}

/// The handler of a session, behind its MCP servers if it has any.
#[derive(Default)]
pub(super) struct Deciders {
    handler: Option<Arc<dyn Handler>>,
    #[cfg(feature = "mcp")]
    servers: Option<Arc<McpServers>>,
}

impl Deciders {
    /// Uses these from now on. Returns the new observer, if one is given.
    #[cfg_attr(not(feature = "mcp"), expect(unused_variables, reason = "only servers call back"))]
    pub(super) fn take(&mut self, side: OurSide, calls: &Calls) -> Option<Box<dyn Observer>> {
        self.handler = side.handler;
        if !side.hook_functions.is_empty() {
            let otherwise = self.handler.take();
            self.handler = Some(Arc::new(HookFunctions { functions: side.hook_functions, otherwise }));
        }
        #[cfg(feature = "mcp")]
        {
            match &self.servers {
                Some(servers) => servers.replace(side.served),
                None if side.served.is_empty() => {}
                None => self.servers = Some(McpServers::new(side.served, calls.weak())),
            }
            if let Some(servers) = &self.servers {
                self.handler = Some(servers.or(self.handler.take()));
            }
        }
        side.observer
    }

    pub(super) fn handler(&self) -> Option<&Arc<dyn Handler>> {
        self.handler.as_ref()
    }
}
