//! The sender and the one that decides, in every order of their steps.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use toolhub_loom::explore;
use toolhub_loom::sent::SentFlag;

/// Runs a sender beside the one that decides: whether nothing was sent, whether the sender has written, and the flag.
fn race(send: fn(&SentFlag, &AtomicBool)) -> (bool, bool, Arc<SentFlag>) {
    let (flag, written) = (Arc::new(SentFlag::default()), Arc::new(AtomicBool::new(false)));
    let sender = {
        let (flag, written) = (flag.clone(), written.clone());
        thread::spawn(move || send(&flag, &written))
    };
    let unsent = flag.end();
    sender.join().unwrap();
    (unsent, written.load(Ordering::SeqCst), flag)
}

fn write_if_allowed(flag: &SentFlag, written: &AtomicBool) {
    if flag.may_begin() {
        written.store(true, Ordering::SeqCst);
    }
}

#[test]
fn the_verdict_is_what_the_sender_did() {
    explore(3, || {
        let (unsent, written, flag) = race(write_if_allowed);
        assert_eq!(unsent, !written);
        assert_eq!(flag.was_sent(), !unsent);
    });
}

/// A write that failed whole is tried again; the decision may come before, between or after.
#[test]
fn after_the_verdict_nothing_is_sent_although_it_was_taken_back() {
    explore(3, || {
        let (unsent, written, flag) = race(|flag, written| {
            if flag.may_begin() {
                flag.reopen();
            }
            write_if_allowed(flag, written);
        });
        // In doubt it was sent; never the other way round.
        assert!(!(unsent && written));
        assert_eq!(flag.was_sent(), !unsent, "the verdict stays");
    });
}
