//! What levels are made of.

/// A track's number, the first instant, and the first one after it (ns).
pub type Place = (u32, i64, i64);

/// A kind of detail: what is told of tracks, the sums that short stretches are put together by, and what is drawn of these.
/// [`crate::States`] and [`crate::Values`] are all there are.
pub trait Detail: Sized + 'static {
    /// What the writer is told: one stretch.
    type Told: Copy;
    /// What is drawn: one stretch, or short ones put together.
    type Drawn: Copy + Send;

    /// Where a stretch stands, and its sums.
    fn of(told: &Self::Told) -> (Place, Self);
    /// With those of the stretch that follows.
    fn add(&mut self, next: Self);
    /// What is drawn of so many stretches with these sums.
    fn drawn(&self, place: Place, stretches: u32) -> Self::Drawn;
    /// Where it stands.
    fn place(drawn: &Self::Drawn) -> Place;
    /// Of how many stretches it is.
    fn stretches(drawn: &Self::Drawn) -> u32;
    /// The stretch that one drawn alone was.
    fn again(drawn: &Self::Drawn) -> Self::Told;
    /// All but its place, as small numbers.
    fn columns(drawn: &Self::Drawn) -> [u64; 5];
    /// Back; `None` where they are of nothing that can be drawn.
    fn from_columns(place: Place, columns: [u64; 5]) -> Option<Self::Drawn>;
}

/// Small numbers of either sign to small ones without.
pub(crate) fn folded(v: i64) -> u64 {
    ((v << 1) ^ (v >> 63)) as u64
}

pub(crate) fn unfolded(v: u64) -> i64 {
    (v >> 1) as i64 ^ -((v & 1) as i64)
}
