//! Scans the system off the runtime's threads, once for all concurrent callers.
//!
//! A scan costs a few milliseconds. When hundreds of sessions stop at once, each would pay for the processes of
//! all the others, so requests that arrive during a scan share the next one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::{Scan, Tree, system};

struct Request {
    tree: Tree,
    answer: oneshot::Sender<(Tree, Scan)>,
}

struct Queue {
    waiting: Vec<Request>,
    is_running: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { waiting: Vec::new(), is_running: false });

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Scans the system. Returns the tree updated with what was found.
pub(crate) async fn scan(tree: Tree) -> (Tree, Scan) {
    let (answer, answered) = oneshot::channel();
    let mut fallback = tree.clone();
    let must_start = {
        let mut queue = queue();
        queue.waiting.push(Request { tree, answer });
        !std::mem::replace(&mut queue.is_running, true)
    };
    // A separate thread, not one of the runtime's: a runtime that shuts down may never run the work it was
    // given, and every other caller would wait forever. The thread ends when there are no more requests.
    let builder = std::thread::Builder::new().name("weir-processes".to_owned());
    if must_start && builder.spawn(serve).is_err() {
        serve();
    }
    match answered.await {
        Ok(answer) => answer,
        Err(_) => {
            let scan = fallback.scan_now();
            (fallback, scan)
        }
    }
}

fn serve() {
    loop {
        let mut requests = {
            let mut queue = queue();
            if queue.waiting.is_empty() {
                queue.is_running = false;
                return;
            }
            std::mem::take(&mut queue.waiting)
        };
        let mut targets: Vec<_> = requests.iter_mut().map(|request| &mut request.tree.target).collect();
        let scans = system::scan(&mut targets);
        for (request, scan) in requests.into_iter().zip(scans) {
            // A caller that no longer waits has dropped its future.
            let _ = request.answer.send((request.tree, scan));
        }
    }
}
