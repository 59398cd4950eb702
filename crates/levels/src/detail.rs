//! The trait of the two kinds of detail: states and values.

/// The extent of a slice: the track's number, its first instant, and the first instant after it (ns).
pub type Extent = (u32, i64, i64);

/// A kind of detail: the stretches that are written, the sums that merge short stretches, and the slices that are drawn. The kinds
/// are [`crate::States`] and [`crate::Values`].
pub trait Detail: Sized + 'static {
    /// What is written: one stretch.
    type Input: Copy;
    /// What is drawn: one stretch, or short ones merged.
    type Drawn: Copy + Send;

    /// Returns the extent of a stretch, and its sums.
    fn sums_of(input: &Self::Input) -> (Extent, Self);
    /// Adds the sums of the following stretch.
    fn add(&mut self, next: Self);
    /// Returns what is drawn for these sums of `stretches` stretches.
    fn drawn(&self, extent: Extent, stretches: u32) -> Self::Drawn;
    /// Returns the extent.
    fn extent(drawn: &Self::Drawn) -> Extent;
    /// Returns the number of merged stretches.
    fn stretches(drawn: &Self::Drawn) -> u32;
    /// Converts a slice of a single stretch back to that stretch.
    fn to_input(drawn: &Self::Drawn) -> Self::Input;
    /// Returns everything but the extent, as small numbers.
    fn columns(drawn: &Self::Drawn) -> [u64; 5];
    /// The inverse of [`Detail::columns`]; `None` if the numbers are invalid.
    fn from_columns(extent: Extent, columns: [u64; 5]) -> Option<Self::Drawn>;
}

/// Converts signed to unsigned, small magnitudes first.
pub(crate) fn zigzag(v: i64) -> u64 {
    ((v << 1) ^ (v >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub(crate) fn unzigzag(v: u64) -> i64 {
    (v >> 1) as i64 ^ -((v & 1) as i64)
}
