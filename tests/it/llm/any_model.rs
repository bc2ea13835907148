//! What holds for every model: tested with the endpoint of `TOOLHUB_LLM_BASE_URL` if it is set, otherwise
//! with the local server.

use super::*;

/// A client of the real endpoint if there is one, otherwise of a server with this reply.
async fn any_model(reply: Reply) -> (OpenAi, Option<HttpServer>) {
    let (mut config, server) = match std::env::var("TOOLHUB_LLM_BASE_URL") {
        Ok(url) => {
            let model = std::env::var("TOOLHUB_LLM_MODEL").unwrap_or_else(|_| "any".to_owned());
            (OpenAiConfig::new(url, model), None)
        }
        Err(_) => {
            let server = HttpServer::start([reply]).await;
            (config(&server.base_url()), Some(server))
        }
    };
    config.temperature = Some(0.0);
    config.max_tokens = Some(48);
    config.timeout = Duration::from_secs(120);
    config.backoff = OpenAiConfig::new("", "").backoff;
    (OpenAi::new(config).unwrap(), server)
}

fn question() -> [Value; 2] {
    [
        message("system", "You answer in one short sentence."),
        message("user", "What is the capital of France?"),
    ]
}

#[tokio::test]
async fn it_answers() {
    let (client, _server) = any_model(Reply::json(200, GOOD)).await;
    let answer = client.chat(&question()).await.unwrap();
    println!("answer: {:?}", answer.text);
    assert!(!answer.text.trim().is_empty());
    assert!(matches!(answer.finish_reason.as_deref(), Some("stop" | "length")));
    assert!(answer.usage.unwrap().completion_tokens.unwrap() >= 1);
}

#[tokio::test]
async fn it_streams() {
    let good = Reply::events([&*text_chunk("hel"), &*text_chunk("lo"), STOP, DONE]);
    let (client, _server) = any_model(good).await;
    let (texts, end) = stream(&client).await;
    end.unwrap();
    println!("streamed: {texts:?}");
    assert!(texts.iter().filter(|text| !text.is_empty()).count() >= 2);
}

#[tokio::test]
async fn it_can_be_left_in_the_middle() {
    let endless = Reply::event_stream().flood_chunks(text_chunk("more "));
    let (client, server) = any_model(endless).await;
    let mut stream = client.stream(&question()).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    match server {
        Some(server) => server.hung_up().await,
        // A real server must still be well: it serves the next request.
        None => assert!(client.chat(&question()).await.is_ok()),
    }
}
