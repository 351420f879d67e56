//! The engine's memory: the C library's, with a cap that remembers when it was hit.
//!
//! The engine reports an exhausted heap by an exception, but without memory for the exception it throws `null`, or gives
//! up a job silently. Whether an allocation was ever refused tells such an end from a program's own (C260).

use std::cell::Cell;
use std::rc::Rc;

use rquickjs::allocator::Allocator;

/// Cap and use of one heap.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    used: Cell<usize>,
    cap: Cell<usize>,
    was_hit: Cell<bool>,
}

impl Gauge {
    /// A gauge for so many bytes.
    pub(super) fn new(cap: u64) -> Rc<Self> {
        let gauge = Rc::new(Self::default());
        gauge.set_cap(cap);
        gauge
    }

    /// Caps the heap from now on.
    pub(super) fn set_cap(&self, bytes: u64) {
        self.cap.set(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// Lets the report of a run have what it needs, even when the program used up everything.
    pub(super) fn lift(&self) {
        self.cap.set(usize::MAX);
    }

    /// Whether an allocation was refused.
    pub(super) fn was_hit(&self) -> bool {
        self.was_hit.get()
    }

    fn admits(&self, bytes: usize) -> bool {
        let fits = self
            .used
            .get()
            .checked_add(bytes)
            .is_some_and(|total| total <= self.cap.get());
        if !fits {
            self.was_hit.set(true);
        }
        fits
    }
}

/// The allocator over a gauge.
pub(super) struct Heap {
    gauge: Rc<Gauge>,
}

impl Heap {
    pub(super) fn new(gauge: &Rc<Gauge>) -> Self {
        Self {
            gauge: Rc::clone(gauge),
        }
    }

    /// Books a block that the C library gave, or that it gave none.
    fn booked(&self, block: *mut libc::c_void) -> *mut u8 {
        if block.is_null() {
            self.gauge.was_hit.set(true);
        } else {
            let used = self.gauge.used.get().saturating_add(size_of_block(block));
            self.gauge.used.set(used);
        }
        block.cast()
    }

    fn unbook(&self, bytes: usize) {
        self.gauge
            .used
            .set(self.gauge.used.get().saturating_sub(bytes));
    }
}

/// The size of a block that [`Heap`] gave out and did not take back.
#[expect(unsafe_code, reason = "the C library's memory has no safe interface")]
fn size_of_block(block: *mut libc::c_void) -> usize {
    // SAFETY: every caller passes a block that `malloc`, `calloc` or `realloc` returned and that was not freed.
    unsafe {
        #[cfg(target_vendor = "apple")]
        return libc::malloc_size(block);
        #[cfg(not(target_vendor = "apple"))]
        return libc::malloc_usable_size(block);
    }
}

// SAFETY: every block comes from the C library, whose blocks are aligned for any type and as large as asked for or more;
// `usable_size` is what the library says of them; a refusal is a null pointer.
#[expect(unsafe_code, reason = "the trait is unsafe to implement")]
unsafe impl Allocator for Heap {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.gauge.admits(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: `malloc` may be called with any size.
        let block = unsafe { libc::malloc(size) };
        self.booked(block)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if !count
            .checked_mul(size)
            .is_some_and(|bytes| self.gauge.admits(bytes))
        {
            return std::ptr::null_mut();
        }
        // SAFETY: `calloc` may be called with any size.
        let block = unsafe { libc::calloc(count, size) };
        self.booked(block)
    }

    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        let block = ptr.cast();
        self.unbook(size_of_block(block));
        // SAFETY: the caller hands back a block of this allocator, once.
        unsafe { libc::free(block) };
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        if ptr.is_null() {
            return self.alloc(new_size);
        }
        let block = ptr.cast();
        let old = size_of_block(block);
        if new_size == 0 {
            self.unbook(old);
            // SAFETY: the caller hands back a block of this allocator, once.
            unsafe { libc::free(block) };
            return std::ptr::null_mut();
        }
        if new_size > old && !self.gauge.admits(new_size - old) {
            return std::ptr::null_mut();
        }
        // SAFETY: the block is alive; when the call fails it stays so, and stays booked.
        let moved = unsafe { libc::realloc(block, new_size) };
        if !moved.is_null() {
            self.unbook(old);
        }
        self.booked(moved)
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        size_of_block(ptr.cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rquickjs::{Context, Runtime};

    #[test]
    fn a_cap_holds_until_it_is_lifted() {
        let gauge = Gauge::new(8 << 20);
        let runtime = Runtime::new_with_alloc(Heap::new(&gauge)).unwrap();
        Context::full(&runtime).unwrap().with(|cx| {
            let grow = "'x'.repeat(16 << 20).length";
            assert!(!gauge.was_hit());
            assert!(cx.eval::<i32, _>(grow).is_err());
            drop(cx.catch());
            assert!(gauge.was_hit());
            gauge.lift();
            assert_eq!(cx.eval::<i32, _>(grow).unwrap(), 16 << 20);
        });
        drop(runtime);
        assert_eq!(gauge.used.get(), 0, "what was booked was given back");
    }

    #[test]
    #[expect(unsafe_code, reason = "the trait's methods are")]
    fn blocks_are_booked_as_they_grow_and_shrink() {
        let gauge = Gauge::new(1 << 20);
        let mut heap = Heap::new(&gauge);
        let block = heap.alloc(100);
        // SAFETY: the block is alive and of this allocator, as is what it becomes.
        let block = unsafe { heap.realloc(block, 100_000) };
        assert!(gauge.used.get() >= 100_000);
        // SAFETY: as above.
        let refused = unsafe { heap.realloc(block, 2 << 20) };
        assert!(refused.is_null(), "refused, and kept");
        // SAFETY: as above.
        let block = unsafe { heap.realloc(block, 10) };
        assert!(gauge.used.get() < 100_000);
        // SAFETY: as above.
        unsafe { heap.dealloc(block) };
        assert_eq!(gauge.used.get(), 0);
        assert!(heap.calloc(usize::MAX, 2).is_null());
        // SAFETY: there is no block.
        assert!(!unsafe { heap.realloc(std::ptr::null_mut(), 1) }.is_null());
    }
}
