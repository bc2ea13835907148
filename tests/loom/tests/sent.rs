//! The sender and the one that decides, in every order of their steps.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use toolhub_loom::explore;
use toolhub_loom::sent::SentFlag;

#[test]
fn the_verdict_is_what_the_sender_did() {
    explore(3, || {
        let (flag, written) = (Arc::new(SentFlag::default()), Arc::new(AtomicBool::new(false)));
        let sender = {
            let (flag, written) = (flag.clone(), written.clone());
            thread::spawn(move || {
                if flag.may_begin() {
                    written.store(true, Ordering::SeqCst);
                }
            })
        };
        let unsent = flag.end();
        sender.join().unwrap();
        assert_eq!(unsent, !written.load(Ordering::SeqCst));
        assert_eq!(flag.was_sent(), !unsent);
    });
}

/// A write that failed whole is tried again; the decision may come before, between or after.
#[test]
fn after_the_verdict_nothing_is_sent_although_it_was_taken_back() {
    explore(3, || {
        let (flag, written) = (Arc::new(SentFlag::default()), Arc::new(AtomicBool::new(false)));
        let sender = {
            let (flag, written) = (flag.clone(), written.clone());
            thread::spawn(move || {
                if flag.may_begin() {
                    flag.reopen();
                }
                if flag.may_begin() {
                    written.store(true, Ordering::SeqCst);
                }
            })
        };
        let unsent = flag.end();
        sender.join().unwrap();
        // In doubt it was sent; never the other way round.
        assert!(!(unsent && written.load(Ordering::SeqCst)));
        assert_eq!(flag.was_sent(), !unsent, "the verdict stays");
    });
}
