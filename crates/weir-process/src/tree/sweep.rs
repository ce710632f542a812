//! Looks at the system off the runtime's threads, once for all who ask at the same time.
//!
//! A look costs some milliseconds. When hundreds of sessions stop at once, each would pay for all the others'
//! processes; so requests that come while a look is running share the next one.

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

/// Looks at the system. The tree comes back with what it has learned.
pub(crate) async fn scan(tree: Tree) -> (Tree, Scan) {
    let (answer, answered) = oneshot::channel();
    let mut fallback = tree.clone();
    let must_start = {
        let mut queue = queue();
        queue.waiting.push(Request { tree, answer });
        !std::mem::replace(&mut queue.is_running, true)
    };
    // A thread of its own and not one of the runtime's: a runtime that shuts down may never run what it was
    // given, and everybody else would wait for ever. It ends when nobody asks any more.
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
            // Whoever does not wait any more has dropped its future.
            let _ = request.answer.send((request.tree, scan));
        }
    }
}
