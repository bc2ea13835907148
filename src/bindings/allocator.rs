//! The allocator of the module.
//!
//! An answer is made on a thread of the runtime and dropped on that of the loop. The system's allocator makes such threads wait
//! for each other; with a crowd of calls that cost more than the calls. Version 2 of mimalloc, because it has no locks that a
//! fork could leave behind.
//!
//! It keeps a large block that another thread has freed for the thread that allocated it, which may never come for it: the
//! memory of large answers stayed for good. So large blocks are the system's.

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout, System};

/// In bytes; such blocks are few, and used for longer than they take to get.
const LARGE: usize = 1024 * 1024;

pub struct BySize;

fn is_large(size: usize) -> bool {
    size >= LARGE
}

// SAFETY: the layout of a block says which of the two it belongs to, and each gets back what it gave.
unsafe impl GlobalAlloc for BySize {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises, here and below.
        unsafe { if is_large(layout.size()) { System.alloc(layout) } else { MiMalloc.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see above.
        unsafe {
            if is_large(layout.size()) { System.alloc_zeroed(layout) } else { MiMalloc.alloc_zeroed(layout) }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe {
            if is_large(layout.size()) {
                System.dealloc(block, layout);
            } else {
                MiMalloc.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: see above; `size` and the alignment make a layout, as the caller promises.
        unsafe {
            match (is_large(layout.size()), is_large(size)) {
                (true, true) => System.realloc(block, layout, size),
                (false, false) => MiMalloc.realloc(block, layout, size),
                _ => {
                    let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !new.is_null() {
                        std::ptr::copy_nonoverlapping(block, new, size.min(layout.size()));
                        self.dealloc(block, layout);
                    }
                    new
                }
            }
        }
    }
}

/// Gives memory that is free back to the system, which keeps it for the next large block otherwise.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, on any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
