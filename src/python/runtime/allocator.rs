//! The allocator of the module.
//!
//! An answer is made on a thread of the runtime and dropped on that of the loop. The system's allocator makes such threads wait
//! for each other; with a crowd of calls that cost more than the calls. Version 2 of mimalloc, because it has no locks that a
//! fork could leave behind.
//!
//! Neither of the two gives the memory of large answers back. mimalloc keeps a large block that another thread has freed for
//! the thread that allocated it, which may never come for it. glibc takes large blocks out of the heap of a thread as soon as
//! one was freed, and does not return the end of such a heap. So on Linux a large block is a mapping of its own, which ends
//! when the block is freed. Elsewhere large blocks are the system's.

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};

/// In bytes; such blocks are few, and used for longer than they take to get.
const LARGE: usize = 1024 * 1024;
/// The smallest page of any machine; blocks that need more alignment are mimalloc's.
const PAGE: usize = 4096;

pub struct BySize;

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

#[cfg(not(target_os = "linux"))]
use std::alloc::System as LargeBlocks;

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
