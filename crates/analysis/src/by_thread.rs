//! What is kept of each thread.

use model::ThreadKey;

/// Something of each thread, at the place that its key says.
pub(crate) struct ByThread<T>(Vec<T>);

impl<T: Clone + Default> ByThread<T> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// A thread's own. What is no thread shares the idle task's, which no table shows.
    #[inline]
    pub(crate) fn of(&mut self, thread: ThreadKey) -> &mut T {
        let at = usize::try_from(thread.0).unwrap_or(0);
        if at >= self.0.len() {
            self.0.resize(at + 1, T::default());
        }
        &mut self.0[at]
    }

    /// All of them, by key.
    pub(crate) fn iter(&mut self) -> impl Iterator<Item = (ThreadKey, &mut T)> {
        self.0.iter_mut().enumerate().skip(1).map(|(key, of)| (ThreadKey(key as i64), of))
    }
}
