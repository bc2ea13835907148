//! One tokio runtime a process: made at first use, ended when no hub is open and nothing runs, forgotten after a fork, shut down
//! before the interpreter goes.
//!
//! All who need it get a [`Lease`] from one lock. The runtime ends by itself, under the same lock, when no lease is out: so
//! nobody holds a handle to a runtime that is about to end, and the next lease starts another one.
//!
//! And the door that is closed at exit. CPython up to 3.13 ends daemon threads by unwinding their stack as soon as they ask
//! for the GIL of an interpreter that is going; through Rust frames that crashes. So at exit a daemon thread whose event
//! loop steps into our code is kept there, without the GIL, and those that are inside are given time to come out.
//!
//! And the allocator of the module.
//!
//! An answer is made on a thread of the runtime and dropped on that of the loop. The system's allocator makes such threads wait
//! for each other; with a crowd of calls that cost more than the calls. Version 2 of mimalloc, because it has no locks that a
//! fork could leave behind.
//!
//! Neither of the two gives the memory of large answers back. mimalloc keeps a large block that another thread has freed for
//! the thread that allocated it, which may never come for it. glibc takes large blocks out of the heap of a thread as soon as
//! one was freed, and does not return the end of such a heap. So on Linux a large block is a mapping of its own, which ends
//! when the block is freed. Elsewhere large blocks are the system's.

use crate::prelude::*;
use mimalloc::MiMalloc;
#[cfg(not(target_os = "linux"))]
use std::alloc::System as LargeBlocks;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::future::Future;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

/// Few workers: they only move bytes and timers, and never wait for the interpreter. A worker that finds work wakes another
/// to look for more, which costs a small call more than its work if both share two cores with Python and the servers.
const MAX_WORKERS: usize = 2;

fn workers() -> usize {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cores / 2).clamp(1, MAX_WORKERS)
}

/// The runtime of the process and what is known of its users.
struct LentRuntime {
    runtime: Runtime,
    /// Cloned for every lease, and for nothing else.
    lent: Arc<Handle>,
    leases_so_far: u64,
    last_hub_closed: Arc<Notify>,
}

impl LentRuntime {
    fn lend(&mut self) -> Lease {
        self.leases_so_far += 1;
        Lease(self.lent.clone())
    }
}

static RUNTIME: Mutex<Option<LentRuntime>> = Mutex::new(None);

/// The runtime's handle. The runtime does not end before this is dropped, except at exit.
pub struct Lease(Arc<Handle>);

impl Deref for Lease {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.0
    }
}

/// Hubs that are not closed. They may hold connections, so the runtime stays for them even if nothing runs.
static OPEN_HUBS: AtomicUsize = AtomicUsize::new(0);

/// A hub is open as long as this exists.
pub struct OpenHub(u64);

impl OpenHub {
    pub fn new() -> Self {
        OPEN_HUBS.fetch_add(1, Ordering::SeqCst);
        OpenHub(generation())
    }
}

impl Drop for OpenHub {
    fn drop(&mut self) {
        if self.0 == generation()
            && OPEN_HUBS.fetch_sub(1, Ordering::SeqCst) == 1
            && let Some(running) = &*RUNTIME.lock()
        {
            running.last_hub_closed.notify_one();
        }
    }
}

/// How many hubs are open in this process.
#[pyfunction]
pub fn open_hubs() -> usize {
    OPEN_HUBS.load(Ordering::SeqCst)
}

/// The time between two looks at whether threads are idle, in microseconds.
static LOOK: AtomicU64 = AtomicU64::new(1_000_000);
/// Looks that must find the runtime unused until it ends.
const UNUSED_LOOKS: u32 = 3;
/// The same, if tasks are left for which nobody waits: idle connections of a chat client, the end of a process.
const LEFTOVER_LOOKS: u32 = 7;

/// The seconds between two looks at whether threads are idle; tests shorten them.
#[pyfunction]
#[pyo3(signature = (seconds=None))]
pub fn idle_look(seconds: Option<f64>) -> f64 {
    if let Some(seconds) = seconds {
        LOOK.store(Duration::from_secs_f64(seconds).as_micros() as u64, Ordering::Relaxed);
    }
    look().as_secs_f64()
}

fn look() -> Duration {
    Duration::from_micros(LOOK.load(Ordering::Relaxed))
}

/// Runs on the runtime and ends it when it is idle. While a hub is open it sleeps.
async fn end_when_idle(last_hub_closed: Arc<Notify>) {
    let (mut leases_seen, mut unused) = (0, 0);
    loop {
        if open_hubs() > 0 {
            last_hub_closed.notified().await;
            continue;
        }
        tokio::time::sleep(look()).await;
        let idle = {
            let mut running = RUNTIME.lock();
            let Some(now) = &mut *running else { return };
            let is_used = open_hubs() > 0 || Arc::get_mut(&mut now.lent).is_none();
            unused = if is_used || now.leases_so_far != leases_seen { 0 } else { unused + 1 };
            leases_seen = now.leases_so_far;
            let has_tasks = now.runtime.metrics().num_alive_tasks() > 1; // this one is alive
            let enough = if has_tasks { LEFTOVER_LOOKS } else { UNUSED_LOOKS };
            if unused < enough {
                continue;
            }
            running.take()
        };
        // A thread of the runtime cannot wait for the end of the others.
        return idle.map_or((), |idle| idle.runtime.shutdown_background());
    }
}

/// Counts the forks this process is away from the one that imported us. What belongs to another generation is not used.
static GENERATION: AtomicU64 = AtomicU64::new(0);

pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Refuses what was made before a fork: its locks may stay held for good, and its threads do not exist here.
pub fn check_generation(made: u64) -> PyResult<()> {
    if made == generation() {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "this hub was made before a fork and cannot be used in the child process; make a new ToolHub there",
    ))
}

/// The runtime's handle; starts the runtime if there is none.
pub fn handle() -> PyResult<Lease> {
    let mut running = RUNTIME.lock();
    if let Some(running) = &mut *running {
        return Ok(running.lend());
    }
    let made =
        Builder::new_multi_thread().worker_threads(workers()).thread_name("toolhub-io").enable_all().build();
    let runtime = made
        .map_err(|error| PyRuntimeError::new_err(format!("toolhub could not start its runtime: {error}")))?;
    let last_hub_closed = Arc::<Notify>::default();
    runtime.spawn(end_when_idle(last_hub_closed.clone()));
    let lent = Arc::new(runtime.handle().clone());
    Ok(running.insert(LentRuntime { runtime, lent, leases_so_far: 0, last_hub_closed }).lend())
}

/// Runs a future on the runtime.
pub fn spawn(future: impl Future<Output = ()> + Send + 'static) -> PyResult<()> {
    let lease = handle()?;
    Handle::clone(&lease).spawn(async move {
        let _lease = lease;
        future.await;
    });
    Ok(())
}

/// Drops something that may hold connections: inside the runtime's context, where it can still send a last word. In the
/// child of a fork it is forgotten instead, because its locks and descriptors belong to the parent.
pub fn release<T>(made: u64, value: T) {
    if made != generation() {
        std::mem::forget(value);
        return;
    }
    let lease = RUNTIME.lock().as_mut().map(LentRuntime::lend);
    let _inside = lease.as_deref().map(Handle::enter);
    drop(value);
}

/// Closes the door to other threads and ends the worker threads.
pub fn shut_down(py: Python<'_>, patience: Duration) {
    LEAVING.get_or_init(|| thread::current().id());
    let running = RUNTIME.lock().take();
    py.detach(move || {
        let end = Instant::now() + patience;
        while INSIDE.load(Ordering::Acquire) > 0 && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        running.map(|running| running.runtime.shutdown_timeout(patience))
    });
}

/// Steps of event loops that are inside our code.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// The thread that ends the interpreter; set when it does.
static LEAVING: OnceLock<ThreadId> = OnceLock::new();

thread_local! {
    /// How many of the steps that are inside are this thread's: a tool may call a tool.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// One step of an event loop inside our code.
pub struct Inside;

/// Every way from an event loop into our code begins here. At exit it ends here too.
pub fn enter(py: Python<'_>) -> Inside {
    INSIDE.fetch_add(1, Ordering::AcqRel);
    DEPTH.set(DEPTH.get() + 1);
    if is_left_behind() {
        INSIDE.fetch_sub(DEPTH.get(), Ordering::AcqRel);
        py.detach(|| park());
    }
    Inside
}

/// Runs `work` without the GIL. At exit the thread does not come back: it stays here, as in [`enter`].
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let result = py.detach(|| {
        let result = work();
        INSIDE.fetch_add(1, Ordering::AcqRel);
        if is_left_behind() {
            INSIDE.fetch_sub(1, Ordering::AcqRel);
            park();
        }
        result
    });
    INSIDE.fetch_sub(1, Ordering::AcqRel);
    result
}

/// True when another thread is ending the interpreter.
fn is_left_behind() -> bool {
    LEAVING.get().is_some_and(|thread| *thread != thread::current().id())
}

/// Stops this thread for good; the end of the process ends it.
pub fn park() -> ! {
    loop {
        thread::park();
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        INSIDE.fetch_sub(1, Ordering::AcqRel);
    }
}

/// In the child of a fork.
pub fn forget_parent() {
    std::mem::forget(take_after_fork(&RUNTIME));
    GENERATION.fetch_add(1, Ordering::Relaxed);
    OPEN_HUBS.store(0, Ordering::SeqCst);
    INSIDE.store(DEPTH.get(), Ordering::Release);
}

/// What a lock guards, in the child of a fork.
pub fn take_after_fork<T: Default>(lock: &Mutex<T>) -> T {
    // SAFETY: the child has one thread, this one. If the lock was held at the fork, its holder does not exist here.
    unsafe {
        if lock.is_locked() {
            lock.force_unlock();
        }
    }
    std::mem::take(&mut *lock.lock())
}

#[global_allocator]
static ALLOCATOR: BySize = BySize;

/// In bytes; such blocks are few, and used for longer than they take to get.
const LARGE: usize = 1024 * 1024;
/// The smallest page of any machine; blocks that need more alignment are mimalloc's.
const PAGE: usize = 4096;

struct BySize;

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= PAGE
}

// SAFETY: the layout of a block says which of the two it belongs to, and each gets back what it gave.
unsafe impl GlobalAlloc for BySize {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises, here and below.
        unsafe { if is_large(layout) { LargeBlocks.alloc(layout) } else { MiMalloc.alloc(layout) } }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe {
            if is_large(layout) {
                LargeBlocks.dealloc(block, layout);
            } else {
                MiMalloc.dealloc(block, layout);
            }
        }
    }
}

/// Each block is a mapping.
#[cfg(target_os = "linux")]
struct LargeBlocks;

// SAFETY: a mapping has the size that was asked for, rounded up to whole pages, and begins with a page.
#[cfg(target_os = "linux")]
unsafe impl GlobalAlloc for LargeBlocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever there is room.
        let block = unsafe { libc::mmap(std::ptr::null_mut(), layout.size(), protection, flags, -1, 0) };
        if block == libc::MAP_FAILED { std::ptr::null_mut() } else { block.cast() }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises. It fails only if the process has too many mappings; then the block stays.
        unsafe { libc::munmap(block.cast(), layout.size()) };
    }
}

/// Gives memory of Python that is free back to the system, which keeps it for the next large block otherwise.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, on any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
