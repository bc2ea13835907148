//! The table of names, and the order of the evidence.

use super::*;
use crate::model::Safety;
use proptest::prelude::*;
use serde_json::json;

/// Never harmless, whatever a server says about them.
const ACTING: &str = "
    get_x_and_chmod get_x_and_unmount disarm_alarm adjust_volume list_and_override invoke_lambda get_and_debit
    sell_shares tweet format_disk check_out_cart forward_mail find_and_delete trade deposit grant_access ban_user
    test_and_deploy send_email write_data_to_excel deleteUser gmail-send-message delete_user delete-user DeleteUser
    DELETE_USER deleteuser findanddelete sendmail sendEmail dropdatabase killprocess removeitems update_list updateList
    readWriteLog read_write_file get_or_create_user getOrCreate getOrSet get_and_post read_then_update fetch_and_run
    list_and_archive translate_and_post search_replace find_replace get_rid_of_user getRidOf bash sh shell python
    python_repl pythonREPL repl execute_command executeCommand run_query run_sql run run_code exec eval shell_command
    terminal powershell cmd sql code code_interpreter kubectl ssh_connect subprocess_run sudo_command buy_stock
    purchase_ticket order_pizza place_order book_flight reserve_table pay_invoice transfer_money wire_funds
    withdraw_cash refund_payment charge_card create_issue createIssue create_or_update_file add_comment append_row
    insert_row upsert_record edit_file modify_record patch_resource put_object post_message postTweet publish_article
    push_files merge_pull_request commit_changes rename_file move_file copy_file overwrite_file truncate_table
    drop_table purge_queue wipe_disk erase_all clear_cache reset_password reboot_server restart_service shutdown
    shutDown start_instance stop_instance kill_process terminate_session deploy_app rollback_release install_package
    uninstall_app enable_feature disable_user lock_door unlock_door open_door close_account cancel_order approve_request
    reject_request assign_ticket invite_member remove_member subscribe unsubscribe_all follow_user like_and_share
    vote upvote_post schedule_meeting set_temperature toggle_light turn_off_lights trigger_build launch_rocket
    upload_file save_note store_secret log_event record_payment register_user sign_document ship_package notify_team
    alert_oncall broadcast_message reply_to_mail call_phone sms_customer email_customer mint_nft stake_tokens
    swap_tokens airdrop fill_form click_button migrate_database provision_vm sync_folders import_csv print_label
    checkout cart_checkout user_update stripe_charge slack_post twitter_tweet mail_forward sends_mail creates_user
    HTTPDelete http2Delete restDELETE send2fa update2 wp_post_delete autodeleteuser power_off clean_up hand_over
    fetch_and_zap read_then_acquire get_task_and_take get_mail_and_fax list_and_clone change_password take_photo
    halt_engine raise_ticket discard_draft enforce_policy respond_to_review dequeue_job acknowledge_alert ack_message
    replicate_volume reduce_stock play_song request_refund return_item backup_database clone_repo repair_table
    get_and_acquire fetch_and_discard reimburse_employee paste_text unplug_device rebase_branch prune_images
    enviar_correo borrar_archivo eliminar_usuario comprar_billete pagar_factura löschen datei_loeschen mail_senden
    rechnung_bezahlen supprimer_fichier envoyer_message acheter_billet inviare_email criar_usuario apagar_arquivo
    удалить_файл отправить_письмо get_user_borrar
    发给客户 消息发到群里 发邮件 发送邮件 清空 清空回收站 删除 删除用户 用户删除 创建订单 下单 转账 支付 付款 修改密码 取消订单 群发短信
    查询并删除 查找后提交 重启服务器 刪除 執行 削除 送信 格式化磁盘 卖出股票 退款 提现 order下单 ｄｅｌｅｔｅ_user
";

/// Harmless by their names alone.
const READING: &str = "
    list_locks get_lock_status get_data_set get_name_and_address find_and_count search_and_extract get_update
    get_user getUser get-user GET_USER list_orders list_order get_order get_order_status get_updates get_update
    search_web searchWeb find_cells fetch_url query_database read_file readFile describe_sheet show_table count_rows
    calculate compute_sum convert_units translate_text look_up_word lookup lookup_dns summarize_text explain_code
    compare_files extract_text retrieve_document view_image preview_page inspect_element is_even has_access
    list_open_issues list_commits get_commit list_pull_requests get_pull_request get_file_contents search_issues
    get_issue list_tags get_share_price get_schedule read_log get_logs list_deleted_users list_created_items
    get_publisher get_last_updated list_uploads find_removed_rows count_deletes get_installation get_message
    search_books get_post list_posts get_transfer_status list_transfers get_payment_record get_shell_history
    search_python_docs getSQLSchema list_running_processes find_nuclear_plants get_amount find_mountain
    get_weather list_issues fetch_html get_user_updates list_updated_files get_recently_updated get_date_created
    get_amount_paid list_files_deleted get_users_assigned_to_task get_messages_sent_by_user fetch_push_notifications
    get_lock_status get_push_events list_pushes get_rss_feed get_wind_speed is_on is_locked has_expired find_out_why
    get_logged_in_users get_routes_at_stop get_cash_flow_as_reported get_in_progress_tasks get_out_of_stock_items get_up_time search_in_files get_current_time get_this_week list_all_users
    get_my_orders get_release get_workflow_run get_invoice get_vote_count read_graph search_nodes get_me
    calc sum multiply average estimate_cost predict_price recommend_movie suggest_name classify_text
    查询订单 查询付款 查询更新 搜索网页 获取天气 读取文件 计算 翻译文本 列出文件 查看设置 统计人数 検索
";

/// Neither: closed by default, but not accused.
const UNKNOWN: &str = "
    frobnicate process handle do_it manager settings payload address runtime timeout weather weather_report
    stock_report data_set github manage_users user documents listen showdown getaway findings
    counter searcher reader listing check_status test_connection validate_input export_csv download_file
    time_set clock_time_set time_stop time_tracker_start search_toggle search_push search_lock count_reset
    take_screenshot takeScreenshot playlist_manager exchange_rate queue_length park_information phone_recycle_service user_backup_status get_user_logged_out
    find_and_frobnicate search_then_wibble query_run
    fetch_push fetchPush get_lock getLock get_lock_for_file read_lock get_it_sent getItSent get_it_sent_now get_it_done
    get_them_deleted find_them_sold get_order_shipped get_user_banned get_bill_paid get_mail_sent_to_bob get_fired get_paid
    get_car_repaired get_request_approved get_message_posted get_it_running count_down countDown count_down_from_ten
    read_aloud show_off get_off get_out get_rolled_back compute_instance_start compute_instance_stop compute_vm_reset
    list_trim list_splice list_shift list_set stream_trim
    list_pop query_reset get_set fetch_sync view_toggle list_push find_swap show_print describe_drop lookup_lock
    retrieve_dump get_state_reset fetch_rollback query_rollback
    clock_in clock_out clock_punch time_off_request weather_control list_files_and_clean calculate_tax_and_file
    find_my_iphone_ring read_mark get_shell
    天气 处理 echo ping generate_image screenshot navigate
";

fn input<'a>(
    name: &'a str,
    annotations: &'a Map<String, Value>,
    declaration: Declaration,
) -> EffectsInput<'a> {
    EffectsInput {
        name,
        description: "",
        parameters: &Value::Null,
        capabilities: &[],
        annotations,
        declaration,
    }
}

const SERVER: Declaration = server(None, false, Trust::Hints);
const TRUSTED: Declaration = server(None, true, Trust::Hints);

const fn server(effects: Option<bool>, assume_read_only: bool, trust: Trust) -> Declaration {
    Declaration::Server { effects, assume_read_only, trust }
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn safety(name: &str, annotations: Value, declaration: Declaration) -> Safety {
    assess(&input(name, &map(annotations), declaration)).safety
}

#[test]
fn the_table_of_names() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (names, expected) in
        [(ACTING, Safety::MayAct), (READING, Safety::Harmless), (UNKNOWN, Safety::Unknown)]
    {
        for name in names.split_whitespace() {
            for declaration in [SERVER, Declaration::None] {
                let effects = assess(&input(name, &Map::new(), declaration));
                if effects.safety != expected {
                    wrong.push(format!("{name}: {effects}"));
                }
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count >= 450, "{count} names");
}

#[test]
fn a_server_cannot_talk_an_acting_verb_away() {
    for name in ACTING.split_whitespace() {
        assert_eq!(safety(name, json!({"readOnlyHint": true}), SERVER), Safety::MayAct, "{name}");
        assert_eq!(safety(name, json!({}), TRUSTED), Safety::MayAct, "{name}");
    }
    for name in UNKNOWN.split_whitespace() {
        assert_eq!(safety(name, json!({"readOnlyHint": true}), SERVER), Safety::Harmless, "{name}");
        assert_eq!(safety(name, json!({}), TRUSTED), Safety::Harmless, "{name}");
    }
}

#[test]
fn the_users_trust_decides_what_a_servers_hint_is_worth() {
    let hint = || json!({"readOnlyHint": true});
    for (name, full, hints, none) in [
        ("delete_user", Safety::Harmless, Safety::MayAct, Safety::MayAct),
        ("frobnicate", Safety::Harmless, Safety::Harmless, Safety::Unknown),
        ("get_user", Safety::Harmless, Safety::Harmless, Safety::Harmless),
    ] {
        for (trust, expected) in [(Trust::Full, full), (Trust::Hints, hints), (Trust::None, none)] {
            assert_eq!(safety(name, hint(), server(None, false, trust)), expected, "{name}, {trust:?}");
        }
    }
    // Hints that warn are heard whatever the trust.
    for trust in [Trust::Full, Trust::Hints, Trust::None] {
        assert_eq!(
            safety("get_x", json!({"destructiveHint": true}), server(None, true, trust)),
            Safety::MayAct
        );
    }
}

#[test]
fn the_users_word_decides_then_annotations_then_the_name() {
    for name in ["delete_x", "get_x", "x"] {
        for (declaration, expected) in [
            (Declaration::Tool(true), Safety::MayAct),
            (Declaration::Tool(false), Safety::Harmless),
            (server(Some(true), false, Trust::Full), Safety::MayAct),
            (server(Some(false), false, Trust::None), Safety::Harmless),
        ] {
            for hint in [json!({}), json!({"readOnlyHint": true}), json!({"destructiveHint": true})] {
                assert_eq!(safety(name, hint, declaration), expected, "{name}, {declaration:?}");
            }
        }
        for declaration in [SERVER, TRUSTED, Declaration::None] {
            for hint in [
                json!({"readOnlyHint": false}),
                json!({"destructiveHint": true}),
                json!({"readOnlyHint": true, "destructiveHint": true}),
            ] {
                assert_eq!(safety(name, hint.clone(), declaration), Safety::MayAct, "{name}, {hint}");
            }
        }
    }
    // The user's own annotations are the user's word.
    assert_eq!(safety("delete_x", json!({"readOnlyHint": true}), Declaration::None), Safety::Harmless);
    // What is not a boolean, or promises only that nothing is destroyed, is not evidence.
    for hint in
        [json!({"readOnlyHint": "yes"}), json!({"destructiveHint": false}), json!({"idempotentHint": true})]
    {
        assert_eq!(safety("x", hint, SERVER), Safety::Unknown);
    }
}

#[test]
fn a_reading_capability_counts_when_nothing_speaks_of_a_change() {
    fn of(name: &str, description: &str, tags: &[&str]) -> Effects {
        let capabilities: Vec<String> = tags.iter().map(ToString::to_string).collect();
        let annotations = Map::new();
        let input = input(name, &annotations, SERVER);
        assess(&EffectsInput { description, capabilities: &capabilities, ..input })
    }
    for tag in READING_CAPABILITIES {
        assert_eq!(of("x", "Looks it up.", &[tag]), Effects::harmless(Evidence::Capability(tag)));
    }
    assert_eq!(of("weather_report", "The weather of a city.", &["weather"]).safety, Safety::Harmless);
    assert_eq!(
        of("brave", "Search posts, tags and orders on the web.", &["search"]).safety,
        Safety::Harmless
    );
    for description in [
        "Searches for old files and removes them.",
        "Search. Then delete what was found.",
        "Order a pizza at a time.",
        "Sets an alarm; sends a mail.",
        "Starts a timer.",
        "Find the best time and book a table.",
        "搜索并删除文件。",
    ] {
        assert_eq!(of("cleaner", description, &["search", "time"]).safety, Safety::Unknown, "{description}");
    }
    let long = "a ".repeat(20_000);
    assert_eq!(of("x", &long, &["search"]).safety, Safety::Unknown, "too long to be read");
    assert_eq!(of("x", "", &["email", "messaging"]).safety, Safety::Unknown);
    assert_eq!(of("send_weather", "", &["weather"]).safety, Safety::MayAct);
}

#[test]
fn adding_numbers_is_harmless() {
    let harmless = |name: &str, parameters: &Value| {
        let annotations = Map::new();
        let input = EffectsInput { parameters, ..input(name, &annotations, SERVER) };
        assess(&input) == Effects::harmless(Evidence::Addition)
    };
    let takes = |properties: Value| json!({"type": "object", "properties": properties});
    let number = json!({"type": "number"});
    let two = takes(json!({"a": {"type": "integer", "description": "the first"}, "b": number}));
    let list = takes(json!({"numbers": {"type": "array", "items": number}}));
    for name in ["add", "addNumbers", "add_two_integers"] {
        assert!(harmless(name, &two) && harmless(name, &list), "{name}");
    }
    for name in ["add_user", "cart_add", "append", "numbers", "delete"] {
        assert!(!harmless(name, &two), "{name}");
    }
    let odd = [
        json!({}),
        json!({"a": number, "note": {"type": "string"}}),
        json!({"item_id": number, "quantity": number}),
        json!({"userIds": {"type": "array", "items": {"type": "integer"}}}),
        json!({"a": {}}),
        json!({"items": {"type": "array"}}),
    ];
    for properties in odd {
        assert!(!harmless("add", &takes(properties.clone())), "{properties}");
    }
    assert!(!harmless("add", &json!(true)));
}

#[test]
fn a_contradiction_is_refused() {
    assert!(declared(Some(true), Some(true)).is_err());
    assert!(declared(Some(false), Some(false)).is_err());
    assert_eq!(declared(Some(true), Some(false)), Ok(Some(true)));
    assert_eq!(declared(Some(false), None), Ok(Some(false)));
    assert_eq!(declared(None, Some(true)), Ok(Some(false)));
    assert_eq!(declared(None, None), Ok(None));
}

proptest! {
    /// Wherever a verb that is never a noun stands in a name, in whatever style, the tool may act.
    #[test]
    fn an_acting_verb_anywhere_is_found(
        before in proptest::collection::vec("[a-z]{2,8}", 0..3),
        verb in proptest::sample::select(verbs::ACTING),
        after in proptest::collection::vec("[a-z]{2,8}", 0..3),
        style in 0..3,
    ) {
        let words: Vec<&str> = before.iter().map(String::as_str).chain([verb]).chain(after.iter().map(String::as_str)).collect();
        let name = match style {
            0 => words.join("_"),
            1 => words.join("-"),
            _ => words.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect(),
        };
        prop_assert_eq!(safety(&name, json!({"readOnlyHint": true}), SERVER), Safety::MayAct, "{}", name);
    }

    #[test]
    fn any_text_is_survived(name in "\\PC{0,60}", description in "\\PC{0,200}") {
        let annotations = Map::new();
        let capabilities = ["search".to_owned()];
        let tool = input(&name, &annotations, SERVER);
        assess(&EffectsInput { description: &description, capabilities: &capabilities, ..tool });
    }
}
