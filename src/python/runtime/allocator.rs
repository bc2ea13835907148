//! The allocator of the module.
//!
//! An answer is made on a thread of the runtime and dropped on that of the loop. The system's allocator makes such threads wait
//! for each other; with a crowd of calls that cost more than the calls. Version 2 of mimalloc, because it has no locks that a
//! fork could leave behind.
//!
//! Neither of the two gives the memory of large answers back. mimalloc keeps a large block that another thread has freed for
//! the thread that allocated it, which may never come for it. glibc takes large blocks out of the heap of a thread as soon as
//! one was freed, and does not return the end of such a heap. So on Linux a large block is a mapping of its own: it ends when
//! the block is freed, and grows without a copy. Elsewhere large blocks are the system's.

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

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see above.
        unsafe {
            if is_large(layout) { LargeBlocks.alloc_zeroed(layout) } else { MiMalloc.alloc_zeroed(layout) }
        }
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

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: see above; `size` and the alignment make a layout, as the caller promises.
        unsafe {
            let new_layout = Layout::from_size_align_unchecked(size, layout.align());
            match (is_large(layout), is_large(new_layout)) {
                (true, true) => LargeBlocks.realloc(block, layout, size),
                (false, false) => MiMalloc.realloc(block, layout, size),
                _ => {
                    let new = self.alloc(new_layout);
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

#[cfg(not(target_os = "linux"))]
use std::alloc::System as LargeBlocks;

/// Each block is a mapping.
#[cfg(target_os = "linux")]
struct LargeBlocks;

// SAFETY: a mapping has the size that was asked for, rounded up to whole pages, and begins with a page; `alloc_zeroed` may be
// `alloc`, because the system clears pages.
#[cfg(target_os = "linux")]
unsafe impl GlobalAlloc for LargeBlocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever there is room.
        let block = unsafe { libc::mmap(std::ptr::null_mut(), layout.size(), protection, flags, -1, 0) };
        or_null(block)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises, here and below.
        unsafe { self.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: see above. It fails only if the process has too many mappings; then the block stays.
        unsafe { libc::munmap(block.cast(), layout.size()) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: see above.
        let block = unsafe { libc::mremap(block.cast(), layout.size(), size, libc::MREMAP_MAYMOVE) };
        or_null(block)
    }
}

#[cfg(target_os = "linux")]
fn or_null(block: *mut libc::c_void) -> *mut u8 {
    if block == libc::MAP_FAILED { std::ptr::null_mut() } else { block.cast() }
}

/// Gives memory of Python that is free back to the system, which keeps it for the next large block otherwise.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, on any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
