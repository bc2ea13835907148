//! The search indexes of views that show some of the tools only. The results of such a view must not depend on tools that it
//! hides, so the index of the hub, with the words of all tools, is not for it.

use toolhub_context::search::Search;
use toolhub_engine::served::View;
use toolhub_types::sync::{Arc, Mutex};

/// Views whose index is kept. Another one is built again when it is searched: some ten milliseconds for 1,000 tools.
const MOST_INDEXES: usize = 32;

/// The views that were searched last have an index each, which follows the registry.
#[derive(Default)]
pub struct ViewIndexes(Mutex<Vec<(Arc<View>, Arc<Search>)>>);

impl ViewIndexes {
    /// The index of a view; `None` if it shows everything, as the index of the hub does.
    pub fn of(&self, view: &Arc<View>) -> Option<Arc<Search>> {
        if view.shows_everything() {
            return None;
        }
        let mut kept = self.0.lock();
        let known = kept.iter().position(|(one, _)| Arc::ptr_eq(one, view));
        let used = match known {
            Some(at) => kept.remove(at),
            None => (view.clone(), Arc::new(Search::of_part(view.clone()))),
        };
        let index = used.1.clone();
        // The last one was used last.
        kept.push(used);
        let oldest = (kept.len() > MOST_INDEXES).then(|| kept.remove(0));
        drop(kept);
        drop(oldest);
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhub_text::pattern::PatternList;

    fn view() -> Arc<View> {
        let tools = PatternList::new(["read_*"]);
        Arc::new(View { tools: Some(Arc::new(tools)), ..View::everything() })
    }

    #[test]
    fn views_have_an_index_each_and_the_oldest_goes() {
        let indexes = ViewIndexes::default();
        assert!(indexes.of(&Arc::new(View::everything())).is_none());
        let views: Vec<_> = (0..=MOST_INDEXES).map(|_| view()).collect();
        let first = indexes.of(&views[0]).unwrap();
        for one in &views[1..MOST_INDEXES] {
            assert!(!Arc::ptr_eq(&first, &indexes.of(one).unwrap()));
        }
        assert!(Arc::ptr_eq(&first, &indexes.of(&views[0]).unwrap()), "kept, and used last");
        let second = Arc::downgrade(&indexes.of(&views[1]).unwrap());
        indexes.of(&views[0]);
        for one in &views[2..] {
            indexes.of(one);
        }
        assert_eq!(indexes.0.lock().len(), MOST_INDEXES);
        assert!(second.upgrade().is_none(), "not used for the longest time");
    }
}
