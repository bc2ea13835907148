//! The tables of names, and the order of the evidence.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use toolhub_types::model::Safety;

/// Never harmless, whatever a server says about them.
const ACTING: &str = "
    get_x_and_chmod get_x_and_unmount disarm_alarm adjust_volume list_and_override invoke_lambda get_and_debit
    sell_shares tweet format_disk forward_mail find_and_delete trade deposit grant_access ban_user test_and_deploy
    send_email write_data_to_excel deleteUser gmail-send-message delete_user delete-user DeleteUser DELETE_USER
    sendEmail update_list updateList readWriteLog read_write_file get_or_create_user getOrCreate getOrSet get_and_post
    read_then_update fetch_and_run list_and_archive translate_and_post search_replace find_replace get_rid_of_user
    getRidOf bash sh shell python_repl pythonREPL repl execute_command executeCommand run_query run_sql run run_code
    exec eval shell_command terminal powershell cmd code_interpreter kubectl ssh_connect subprocess_run sudo_command
    buy_stock purchase_ticket order_pizza place_order book_flight reserve_table pay_invoice transfer_money wire_funds
    withdraw_cash refund_payment charge_card create_issue createIssue create_or_update_file add_comment append_row
    insert_row upsert_record edit_file modify_record patch_resource put_object post_message postTweet publish_article
    push_files merge_pull_request commit_changes rename_file move_file copy_file overwrite_file truncate_table
    drop_table purge_queue wipe_disk erase_all clear_cache reset_password reboot_server restart_service shutdown
    shutDown start_instance stop_instance kill_process terminate_session deploy_app rollback_release install_package
    uninstall_app enable_feature disable_user lock_door unlock_door open_door close_account cancel_order
    approve_request reject_request assign_ticket invite_member remove_member subscribe unsubscribe_all follow_user
    like_and_share vote upvote_post schedule_meeting set_temperature toggle_light turn_off_lights trigger_build
    launch_rocket upload_file save_note store_secret log_event record_payment register_user sign_document ship_package
    notify_team alert_oncall broadcast_message reply_to_mail call_phone sms_customer email_customer mint_nft
    stake_tokens swap_tokens airdrop fill_form click_button migrate_database provision_vm sync_folders import_csv
    print_label checkout cart_checkout user_update stripe_charge slack_post twitter_tweet mail_forward sends_mail
    HTTPDelete http2Delete restDELETE send2fa update2 wp_post_delete fetch_and_zap read_then_acquire get_task_and_take
    get_mail_and_fax list_and_clone change_password take_photo halt_engine raise_ticket discard_draft enforce_policy
    respond_to_review dequeue_job acknowledge_alert ack_message replicate_volume reduce_stock play_song request_refund
    return_item backup_database clone_repo repair_table get_and_acquire fetch_and_discard reimburse_employee
    paste_text unplug_device rebase_branch prune_images mail_senden envoyer_message inviare_email 发给客户 消息发到群里 发邮件 发送邮件 开启防火墙 接受邀请 清空 清空回收站 删除
    删除用户 用户删除 创建订单 下单 转账 支付 付款 修改密码 取消订单 群发短信 查询并删除 查找后提交 重启服务器 刪除 執行 削除 送信 格式化磁盘 卖出股票 退款 提现 order下单 ｄｅｌｅｔｅ_user
    take_screenshot takeScreenshot query_run compute_vm_reset query_reset view_toggle retrieve_dump query_rollback
    archive_list trello_archive_list mark_thread_read run_search start_search 查询并付款 更新列表 get_and_lock issue_and_get
";

/// Harmless by their names alone.
const READING: &str = "
    list_locks get_data_set find_and_count get_update get_user getUser get-user GET_USER list_orders
    list_directory list_all list_people list_metadata search_by_tag users_lookup_by_email get_order get_order_status get_updates search_web searchWeb find_cells fetch_url read_file readFile
    describe_sheet show_table count_rows calculate translate_text look_up_word lookup lookup_dns list_open_issues
    list_commits get_commit list_pull_requests get_pull_request get_file_contents search_issues get_issue list_tags
    get_share_price get_schedule read_log get_logs list_deleted_users list_created_items get_publisher list_uploads
    find_removed_rows count_deletes get_installation get_message search_books get_post list_posts get_transfer_status
    list_transfers get_payment_record search_python_docs getSQLSchema list_running_processes
    find_nuclear_plants get_amount find_mountain get_weather list_issues fetch_html get_user_updates
    list_updated_files get_users_assigned_to_task get_messages_sent_by_user fetch_push_notifications get_push_events
    list_pushes find_out_why get_logged_in_users get_routes_at_stop get_in_progress_tasks get_out_of_stock_items
    get_up_time search_in_files get_current_time get_this_week list_all_users get_my_orders get_release
    get_workflow_run get_invoice get_vote_count read_graph search_nodes get_me 查询订单 查询付款 查询更新 搜索网页 获取天气 读取文件 计算 翻译文本
    列出文件 查看设置 统计人数 検索 jira_get_worklog postgres_table_list figma_get_file_nodes issue_get block_raw_hex_get
    gmail_get_email_body calculate_tax translate_page weather.get users/list 天气查询 订单查询 付款查询 lookup_order fetch_report
    show_report search_mail read_message
";

/// Neither: closed by default, but not accused.
const UNKNOWN: &str = "
    check_out_cart deleteuser findanddelete sendmail dropdatabase killprocess removeitems python sql code creates_user
    autodeleteuser power_off clean_up hand_over enviar_correo borrar_archivo eliminar_usuario comprar_billete
    pagar_factura löschen datei_loeschen rechnung_bezahlen supprimer_fichier acheter_billet criar_usuario
    apagar_arquivo удалить_файл отправить_письмо get_name_and_address search_and_extract query_database compute_sum
    convert_units summarize_text explain_code compare_files extract_text retrieve_document view_image preview_page
    inspect_element is_even has_access get_last_updated get_recently_updated get_date_created get_amount_paid
    list_files_deleted get_rss_feed get_wind_speed is_on is_locked has_expired get_cash_flow_as_reported calc sum
    multiply average estimate_cost predict_price recommend_movie suggest_name classify_text frobnicate process handle
    do_it manager settings payload address runtime timeout weather weather_report stock_report data_set github
    manage_users user documents listen showdown getaway findings counter searcher reader listing check_status
    test_connection validate_input export_csv download_file time_set clock_time_set time_stop time_tracker_start
    search_toggle search_push search_lock count_reset playlist_manager exchange_rate queue_length park_information
    phone_recycle_service user_backup_status get_user_logged_out find_and_frobnicate search_then_wibble fetch_push
    fetchPush get_lock getLock read_lock get_it_sent getItSent get_it_done get_them_deleted find_them_sold
    get_order_shipped get_user_banned get_bill_paid get_fired get_paid get_car_repaired get_request_approved
    get_message_posted count_down countDown read_aloud show_off get_off get_out get_rolled_back compute_instance_start
    compute_instance_stop list_trim list_splice list_shift list_set stream_trim list_pop fetch_sync list_push
    find_swap show_print describe_drop lookup_lock get_state_reset fetch_rollback clock_in clock_out clock_punch
    time_off_request weather_control list_files_and_clean calculate_tax_and_file read_mark get_shell 天气 处理 echo ping
    generate_image screenshot navigate linear_convertIssueToSubtask parse_prd export_to_csv twist_threads_mark_read
    export_list query_list check_search_status pinterest_search_and_download tax_calculate page_translate convert
    query compute parse export check get_lock_status get_shell_history get_reset_password
    list_set_value read_start_vm fetch_transfer_money get_merge_request_diff 查询姓名和地址 文件转换 list_update search_run
    mailing_list_blast list_invalidate list_transfer list_order list_item_for_sale list_on_marketplace list_unlist
    todo_list_action count_water search_warrant_issue show_account_transfer
";

/// The verbs that PowerShell approves for the names of commands and that change something: a list that others made.
const OF_OTHERS: &str = "
    add approve backup block build checkpoint clear close complete compress confirm connect convert copy deny deploy
    disable disconnect dismount edit enable export format grant hide import initialize install invoke join lock merge
    mount move open optimize pop protect publish push redo register remove rename repair request reset resize resolve
    restart restore resume revoke save send set skip start stop submit suspend switch sync unblock undo uninstall
    unlock unprotect unpublish unregister update write
";

const SERVER: Declaration<'_> = server(None, false, Trust::Hints);
const ASSUMED: Declaration<'_> = server(None, true, Trust::Hints);
const USER: Declaration<'_> = Declaration::Tool { acts: None, capabilities: &[] };

const fn server(effects: Option<bool>, assume_read_only: bool, trust: Trust) -> Declaration<'static> {
    Declaration::Server { effects, assume_read_only, trust }
}

const fn tool(acts: bool) -> Declaration<'static> {
    Declaration::Tool { acts: Some(acts), capabilities: &[] }
}

fn of(name: &str, annotations: Value, declaration: Declaration<'_>) -> Effects {
    let annotations = annotations.as_object().cloned().unwrap_or_default();
    let (description, parameters) = ("", &Value::Null);
    assess(&EffectsInput { name, description, parameters, annotations: &annotations, declaration })
}

fn described(description: &str, parameters: Value, declaration: Declaration<'_>) -> Effects {
    let (name, annotations) = ("get_x", &Map::new());
    assess(&EffectsInput { name, description, parameters: &parameters, annotations, declaration })
}

#[test]
fn the_tables_of_names() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (names, expected) in
        [(ACTING, Safety::MayAct), (READING, Safety::Harmless), (UNKNOWN, Safety::Unknown)]
    {
        for name in names.split_whitespace() {
            for declaration in [SERVER, USER] {
                let effects = of(name, json!({}), declaration);
                if effects.safety != expected {
                    wrong.push(format!("{name}: {}", effects.message()));
                }
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count >= 500, "{count} names");
}

#[test]
fn no_verb_of_a_list_that_others_made_is_harmless() {
    for verb in OF_OTHERS.split_whitespace() {
        for name in
            [verb.to_owned(), format!("{verb}_list"), format!("search_{verb}"), format!("get_and_{verb}")]
        {
            assert_ne!(of(&name, json!({}), SERVER).safety, Safety::Harmless, "{name}");
        }
    }
}

#[test]
fn a_server_cannot_talk_an_acting_verb_away() {
    for name in ACTING.split_whitespace() {
        assert_eq!(of(name, json!({"readOnlyHint": true}), SERVER).safety, Safety::MayAct, "{name}");
        assert_eq!(of(name, json!({}), ASSUMED).safety, Safety::MayAct, "{name}");
    }
    for name in UNKNOWN.split_whitespace() {
        assert_eq!(of(name, json!({"readOnlyHint": true}), SERVER).safety, Safety::Harmless, "{name}");
        assert_eq!(of(name, json!({}), ASSUMED).safety, Safety::Harmless, "{name}");
    }
}

#[test]
fn the_users_trust_decides_what_a_server_is_worth() {
    let hint = || json!({"readOnlyHint": true});
    for (name, full, hints, none) in [
        ("delete_user", Safety::Harmless, Safety::MayAct, Safety::MayAct),
        ("frobnicate", Safety::Harmless, Safety::Harmless, Safety::Unknown),
        ("get_user", Safety::Harmless, Safety::Harmless, Safety::Unknown),
    ] {
        for (trust, expected) in [(Trust::Full, full), (Trust::Hints, hints), (Trust::None, none)] {
            assert_eq!(of(name, hint(), server(None, false, trust)).safety, expected, "{name}, {trust:?}");
        }
    }
    // Without trust only the user's word counts, and hints that warn are heard whatever the trust.
    assert_eq!(of("get_x", hint(), server(None, false, Trust::None)), Effects::unknown(Evidence::Untrusted));
    for trust in Trust::ALL {
        assert!(of("get_x", json!({}), server(None, true, trust)).are_harmless());
        let warned = of("get_x", json!({"destructiveHint": true}), server(None, true, trust));
        assert_eq!(warned.safety, Safety::MayAct);
    }
}

#[test]
fn the_users_word_decides_then_annotations_then_the_name() {
    for name in ["delete_x", "get_x", "x"] {
        for (declaration, expected) in [
            (tool(true), Safety::MayAct),
            (tool(false), Safety::Harmless),
            (server(Some(true), false, Trust::Full), Safety::MayAct),
            (server(Some(false), false, Trust::None), Safety::Harmless),
        ] {
            for hint in [json!({}), json!({"readOnlyHint": true}), json!({"destructiveHint": true})] {
                assert_eq!(of(name, hint, declaration).safety, expected, "{name}, {declaration:?}");
            }
        }
        for declaration in [SERVER, ASSUMED, USER] {
            for hint in [
                json!({"readOnlyHint": false}),
                json!({"destructiveHint": true}),
                json!({"readOnlyHint": true, "destructiveHint": true}),
            ] {
                assert_eq!(of(name, hint.clone(), declaration).safety, Safety::MayAct, "{name}, {hint}");
            }
        }
    }
    // The user's own annotations are the user's word.
    assert_eq!(of("delete_x", json!({"readOnlyHint": true}), USER).safety, Safety::Harmless);
    // A warning that is not a boolean is not heard as the opposite, whatever else speaks for the tool.
    for hint in
        [json!({"destructiveHint": "true"}), json!({"readOnlyHint": "false"}), json!({"readOnlyHint": 0})]
    {
        for declaration in [SERVER, ASSUMED, USER, server(None, false, Trust::Full)] {
            assert_eq!(of("get_x", hint.clone(), declaration).safety, Safety::Unknown, "{hint}");
            assert_eq!(of("delete_x", hint.clone(), declaration).safety, Safety::MayAct, "{hint}");
        }
    }
    let mixed = json!({"readOnlyHint": true, "destructiveHint": "true"});
    assert_eq!(of("get_x", mixed, server(None, false, Trust::Full)).safety, Safety::Unknown);
    assert!(of("get_x", json!({"readOnlyHint": null}), SERVER).are_harmless());
    // What is not a boolean, or promises only that nothing is destroyed, is not evidence.
    for hint in
        [json!({"readOnlyHint": "yes"}), json!({"destructiveHint": false}), json!({"idempotentHint": true})]
    {
        assert_eq!(of("x", hint, SERVER).safety, Safety::Unknown);
    }
}

#[test]
fn a_declared_reading_capability_is_the_users_word() {
    let with = |name: &str, tags: &[&str]| {
        let capabilities: Vec<String> = tags.iter().map(ToString::to_string).collect();
        of(name, json!({}), Declaration::Tool { acts: None, capabilities: &capabilities })
    };
    for tag in READING_CAPABILITIES {
        assert_eq!(with("x", &["web", tag]), Effects::harmless(Evidence::Capability(tag)));
    }
    for tag in ["email", "convert", "code", "database", "web"] {
        assert_eq!(with("x", &[tag]), Effects::UNKNOWN, "{tag}");
    }
    assert_eq!(with("send_weather", &["weather"]).safety, Safety::MayAct);
}

#[test]
fn descriptions_and_parameters_only_raise_the_level() {
    for description in [
        "Removes old files.",
        "Remove old files.",
        "Books a table.",
        "Order a pizza at a time.",
        "Starts a timer.",
        "Searches for old files and removes them.",
        "Gets the page; saves a copy.",
        "Search. Then delete what was found.",
        "Reads the queue. Deletes what was read.",
        "删除文件。",
        "搜索并删除文件。",
        "搜索并预订酒店。",
        "本工具会删除文件。",
        "用于删除文件。",
        "This tool deletes files.",
        "Use this to delete files",
        "Permanently delete files.",
        "Gets x. It will also delete it.",
        "Gets x. Also emails it to the owner.",
        "Get a page. Create a key first.",
        "Notifies the owner.",
        "Transfers funds to an account.",
        "Run code.",
        "Tool that posts to a channel.",
        "<b>Deletes</b> x",
        "De<b>le</b>tes x",
        "Gets x<br>deletes it",
        "**Del**etes x",
        "d\u{200b}elete x",
        "读取后删除报告",
        "查询订单，取消其中一个。",
        "获取文件。之后将文件移动到回收站。",
        "读取并把原件销毁。",
        "Del\u{ad}ete x",
    ] {
        let effects = described(description, json!({}), SERVER);
        assert!(matches!(effects.evidence, Evidence::Description(_)), "{description}: {}", effects.message());
        assert_eq!(effects.safety, Safety::Unknown, "{description}");
        assert!(described(description, json!({}), tool(false)).are_harmless(), "{description}");
        assert!(described(description, json!({}), ASSUMED).are_harmless(), "{description}");
    }
    for description in [
        "",
        "Convert documents.",
        "Get the orders that were deleted, updated or sent.",
        "The orders of a customer, with messages and comments.",
        "Returns a list of charts.\n\nMakes a request to the server.",
        "A list of events, with updates, contents and comments.",
        "Get a page. Use this before you create or delete one.",
        "Get the emails that it refers to. Orders are sorted.",
        "获取已删除的文件。",
        "获取最近发送的消息的编号，包括文件的保存路径。",
    ] {
        assert!(described(description, json!({}), SERVER).are_harmless(), "{description}");
    }
    let long = "a ".repeat(20_000);
    assert_eq!(described(&long, json!({}), SERVER), Effects::UNKNOWN, "too long to be read");
    for (parameter, raises) in [
        ("sql", true),
        ("sqlQuery", true),
        ("statement", true),
        ("method", true),
        ("command", true),
        ("code", true),
        ("action", true),
        ("http_method", true),
        ("httpMethod", true),
        ("s\u{200b}ql", true),
        ("query", false),
        ("statements", true),
        ("decode", false),
        ("graphql", true),
        ("customJs", true),
        ("delete", true),
        ("deleteAfter", true),
        ("deleted_after", false),
        ("make", false),
        ("order_by", false),
    ] {
        let parameters = json!({"type": "object", "properties": {parameter: {"type": "string"}}});
        assert_eq!(described("", parameters, SERVER).are_harmless(), !raises, "{parameter}");
    }
    for (values, raises) in [
        (json!(["GET", "POST", "DELETE"]), true),
        (json!(["GET", "POST"]), true),
        (json!(["get", "patch"]), true),
        (json!(["read", "create"]), true),
        (json!(["POST"]), true),
        (json!(["GET", "HEAD"]), false),
        (json!(["post", "comment"]), false),
        (json!(["created", "updated", "open", "order"]), false),
        (json!(["Create a page", "delete it"]), false),
    ] {
        let parameters = json!({"type": "object", "properties": {"verb": {"enum": values}}});
        assert_eq!(described("", parameters, SERVER).are_harmless(), !raises, "{values}");
    }
    let secret = json!({"type": "object", "properties": {"password": {"type": "string", "writeOnly": true}}});
    assert!(described("", secret, SERVER).are_harmless());
    // They do not make a tool harmless, and they do not accuse it.
    let plain = EffectsInput {
        name: "frobnicate",
        description: "Search, read and list documents.",
        parameters: &json!({"properties": {"sql": {}}}),
        annotations: &Map::new(),
        declaration: SERVER,
    };
    assert_eq!(assess(&plain), Effects::UNKNOWN);
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
        prop_assert_eq!(of(&name, json!({"readOnlyHint": true}), SERVER).safety, Safety::MayAct, "{}", name);
    }

    /// Without a reading verb no name is harmless, and no description or parameter makes it so.
    #[test]
    fn nothing_but_a_reading_verb_makes_a_name_harmless(
        name in "[a-z]{1,6}(_[a-z]{1,6}){0,3}",
        description in "(Search|Read|Get|List|Convert)[a-z ]{0,40}\\.",
    ) {
        let reads = |word: &str| {
            let lists = [verbs::READING, verbs::READING_OR_NOUN, verbs::READING_WHEN_LEADING];
            lists.iter().any(|list| list.contains(&word)) || word == "look"
        };
        prop_assume!(!name.split('_').any(reads));
        let (annotations, parameters) = (&Map::new(), &json!({"properties": {"query": {}}}));
        let input = EffectsInput { name: &name, description: &description, parameters, annotations, declaration: SERVER };
        prop_assert!(!assess(&input).are_harmless(), "{}", name);
    }

    #[test]
    fn any_text_is_survived(name in "\\PC{0,60}", description in "\\PC{0,200}") {
        let (annotations, parameters) = (&Map::new(), &Value::Null);
        assess(&EffectsInput { name: &name, description: &description, parameters, annotations, declaration: SERVER });
        assess(&EffectsInput { name: "get_x", description: &description, parameters, annotations, declaration: USER });
    }
}
