//! Which tools a prompt or a list for an API shows.

use super::Hub;
use std::collections::HashSet;
use std::sync::Arc;

/// Tools to show: some that come first, and others. The names are those of one moment.
pub struct ShownTools {
    /// All names that models may call, sorted.
    names: Arc<Vec<Arc<str>>>,
    /// The number of names to choose from.
    among: usize,
    first: Vec<usize>,
    others: Vec<usize>,
}

impl Hub {
    /// These names first, then all others by name; with `among` only the names in it.
    pub fn shown_tools(&self, first: &[String], among: Option<&HashSet<String>>) -> ShownTools {
        let names = self.registry.snapshot().sorted_names();
        let is_meant = |at: &usize| among.is_none_or(|among| among.contains(&*names[*at]));
        let mut seen = HashSet::new();
        let first = first.iter().filter_map(|name| position(&names, name)).filter(is_meant);
        let first: Vec<usize> = first.filter(|at| seen.insert(*at)).collect();
        let others: Vec<usize> = (0..names.len()).filter(|at| is_meant(at) && !seen.contains(at)).collect();
        ShownTools { among: first.len() + others.len(), names, first, others }
    }
}

impl ShownTools {
    /// The number of tools behind the first ones.
    pub fn others(&self) -> usize {
        self.others.len()
    }

    /// The place of a tool behind the first ones. The others must be in the order of their names.
    pub fn place(&self, name: &str) -> Option<usize> {
        let at = position(&self.names, name)?;
        self.others.binary_search(&at).is_ok().then_some(at)
    }

    /// These places, and after them others by name until there are `most`.
    pub fn filled_up(&self, mut places: Vec<usize>, most: usize) -> Vec<usize> {
        let listed: HashSet<usize> = places.iter().copied().collect();
        let room = most.saturating_sub(places.len());
        places.extend(self.others.iter().filter(|at| !listed.contains(at)).take(room));
        places
    }

    /// The same first ones, and behind them these, in this order. `places` are those that [`ShownTools::place`] returned.
    pub fn followed_by(&self, places: Vec<usize>) -> ShownTools {
        ShownTools { names: self.names.clone(), among: self.among, first: self.first.clone(), others: places }
    }

    /// The names of the first ones, the names of up to `limit` others, and how many are not shown.
    pub fn for_prompt(&self, limit: Option<usize>) -> (Vec<String>, Vec<String>, usize) {
        let shown = self.others.len().min(limit.unwrap_or(usize::MAX));
        let named = |places: &[usize]| places.iter().map(|at| self.names[*at].to_string()).collect();
        (named(&self.first), named(&self.others[..shown]), self.among - self.first.len() - shown)
    }

    /// Up to `limit` names, the first ones included.
    pub fn names(&self, limit: Option<usize>) -> Vec<&str> {
        let places = self.first.iter().chain(&self.others).take(limit.unwrap_or(usize::MAX));
        places.map(|at| &*self.names[*at]).collect()
    }
}

fn position(names: &[Arc<str>], name: &str) -> Option<usize> {
    names.binary_search_by(|known| (**known).cmp(name)).ok()
}
