//! The memory of a matrix, in huge pages: most of the time of generation is spent reading all of it for every token,
//! and huge pages shorten that.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

use super::layout::Line;

/// Lines in their own pages.
pub(super) struct Lines(MmapMut);

impl Lines {
    /// Lines of zeros. If there is not enough memory, the process ends, as for any allocation.
    pub(super) fn zeros(count: usize) -> Self {
        let bytes = count * size_of::<Line>();
        let Ok(pages) = MmapMut::map_anon(bytes) else {
            let layout = std::alloc::Layout::array::<u8>(bytes);
            std::alloc::handle_alloc_error(layout.unwrap_or(std::alloc::Layout::new::<Line>()));
        };
        // Results are the same without huge pages.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        Self(pages)
    }
}

impl Deref for Lines {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        bytemuck::cast_slice(&self.0)
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [Line] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}
