//! The process groups of the servers, in memory that the host shares with the sentinel.

use std::sync::atomic::{AtomicI32, Ordering};

/// Servers at one time whose groups are known. The mark finds the children of any more.
const SLOTS: usize = 16 * 1024;
const FREE: i32 = 0;
const RESERVED: i32 = -1;

/// The owner of the memory.
pub struct GroupTable(GroupSlots);

/// Where the groups are. The sentinel has no owner: its copy of the memory stays mapped.
#[derive(Clone, Copy)]
pub struct GroupSlots(*const AtomicI32);

// SAFETY: the memory is mapped until the table is dropped, and holds only atomics.
unsafe impl Send for GroupTable {}
// SAFETY: as above.
unsafe impl Sync for GroupTable {}

impl GroupTable {
    const BYTES: usize = SLOTS * size_of::<AtomicI32>();

    pub fn new() -> Option<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: new memory at an address that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), Self::BYTES, access, kind, -1, 0) };
        (start != libc::MAP_FAILED).then_some(GroupTable(GroupSlots(start.cast())))
    }

    pub fn slots(&self) -> GroupSlots {
        self.0
    }

    fn all(&self) -> &[AtomicI32] {
        // SAFETY: the memory is mapped as long as the table lives.
        unsafe { self.0.all() }
    }

    pub fn reserve(&self) -> Option<usize> {
        let is_reserved = |slot: &AtomicI32| {
            slot.compare_exchange(FREE, RESERVED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.all().iter().position(is_reserved)
    }

    pub fn set(&self, slot: usize, group: i32) {
        if let Some(slot) = self.all().get(slot) {
            slot.store(group, Ordering::Release);
        }
    }

    pub fn free(&self, slot: usize) {
        self.set(slot, FREE);
    }
}

impl Drop for GroupTable {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped by `new` with this size, and nothing refers to it any more.
        unsafe { libc::munmap(self.0.0.cast_mut().cast(), Self::BYTES) };
    }
}

impl GroupSlots {
    /// # Safety
    /// The memory must be mapped.
    unsafe fn all<'a>(self) -> &'a [AtomicI32] {
        // SAFETY: the memory has this size, is aligned to a page, and began as zeros.
        unsafe { std::slice::from_raw_parts(self.0, SLOTS) }
    }

    /// The groups that are known now.
    ///
    /// # Safety
    /// The memory must be mapped.
    pub unsafe fn groups(self) -> impl Iterator<Item = i32> {
        // SAFETY: the caller promises it.
        let all = unsafe { self.all() };
        all.iter().map(|slot| slot.load(Ordering::Acquire)).filter(|group| *group > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_given_once_until_it_is_free() {
        let table = GroupTable::new().unwrap();
        let (first, second) = (table.reserve().unwrap(), table.reserve().unwrap());
        assert_ne!(first, second);
        table.set(second, 1234);
        // SAFETY: the table lives.
        let groups = || unsafe { table.slots().groups() }.collect::<Vec<_>>();
        assert_eq!(groups(), [1234], "a reserved slot has no group yet");
        table.free(second);
        assert!(groups().is_empty());
        assert_eq!(table.reserve(), Some(second));
        let rest = std::iter::from_fn(|| table.reserve()).count();
        assert_eq!(rest, SLOTS - 2, "and then there is none");
    }
}
