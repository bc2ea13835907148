//! The mailbox of an event loop: a loop that reads when it is notified, and only then, misses nothing.

use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::sync::Arc;
use toolhub_loom::explore;
use toolhub_loom::mailbox::{Mailbox, Notifier};

/// Like an eventfd that a loop polls: notified until it is cleared.
#[derive(Default)]
struct Bell {
    is_notified: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn wait(&self) {
        let mut is_notified = self.is_notified.lock().unwrap();
        while !*is_notified {
            is_notified = self.changed.wait(is_notified).unwrap();
        }
    }
}

impl Notifier for Bell {
    fn notify(&self) {
        *self.is_notified.lock().unwrap() = true;
        self.changed.notify_one();
    }

    fn clear(&self) {
        *self.is_notified.lock().unwrap() = false;
    }
}

fn read(mailbox: &Mailbox<u32, Bell>, expected: usize) -> Vec<u32> {
    let mut mail = Vec::new();
    while mail.len() < expected {
        mailbox.notifier().wait();
        mail.extend(mailbox.drain());
    }
    mail
}

#[test]
fn no_message_waits_for_the_next_one() {
    explore(3, || {
        let mailbox = Mailbox::new(Bell::default());
        let writers: Vec<_> = [1, 2]
            .map(|n| {
                let mailbox = mailbox.clone();
                thread::spawn(move || mailbox.push(n))
            })
            .into();
        let mut mail = read(&mailbox, 2);
        mail.sort_unstable();
        assert_eq!(mail, [1, 2]);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn messages_of_one_thread_keep_their_order() {
    explore(3, || {
        let mailbox = Mailbox::new(Bell::default());
        let writer: Arc<_> = mailbox.clone();
        let writer = thread::spawn(move || (1..=3).for_each(|n| writer.push(n)));
        assert_eq!(read(&mailbox, 3), [1, 2, 3]);
        writer.join().unwrap();
    });
}
