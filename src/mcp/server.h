/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy's tools for MCP clients, independent of the transport: a transport passes in the
 * messages of a session and gets every response through its send callback. */
#ifndef TC_MCP_SERVER_H
#define TC_MCP_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <toolcage/toolcage.h>

#include "approve/queue/queue.h"
#include "mcp/clock.h"
#include "mcp/mcp.h"
#include "mcp/rescue.h"

/* Error codes of JSON-RPC and MCP. */
enum {
    TC_RPC_PARSE = -32700,
    TC_RPC_REQUEST = -32600,
    TC_RPC_METHOD = -32601,
    TC_RPC_PARAMS = -32602,
    TC_RPC_INTERNAL = -32603,
    TC_RPC_HEADERS = -32020,
    TC_RPC_VERSION = -32022,
};

#define TC_MCP_STATELESS "2026-07-28"
extern const char tc_mcp_stateless[]; /* the version of a stateless request; compared by address */
#define TC_MCP_META "io.modelcontextprotocol/"
/* In _meta: the result for programs, as `toolcage call --json` prints it without the texts that are
 * in the content. */
#define TC_MCP_RESULT "toolcage/result"

/* Of log messages; SILENT: the client wants none. */
enum tc_mcp_level {
    TC_MCP_SILENT,
    TC_MCP_DEBUG,
    TC_MCP_INFO,
    TC_MCP_NOTICE,
    TC_MCP_WARNING,
    TC_MCP_ERROR,
};

/* What became of a notification. */
enum tc_mcp_told {
    TC_MCP_TOLD,
    TC_MCP_UNREAD, /* dropped: the client does not read, or has no stream for it */
    TC_MCP_LOST,   /* out of memory: the server must stop */
};
enum { TC_MCP_UNREAD_MAX = 64 << 10 }; /* unread bytes above which notifications are dropped */

enum {
    TC_MCP_SUBSCRIPTIONS = 8,      /* of one connection of a stateless client */
    TC_MCP_SUBSCRIPTIONS_MAX = 64, /* of all: each holds a connection over HTTP */
};

/* An open subscriptions/listen request. */
struct tc_mcp_subscription {
    json_t *id; /* owned; NULL: none */
    void *asker;
    bool tools;              /* wants to hear that the list of tools has changed */
    unsigned long list_seen; /* the change that was reported last */
    int64_t list_ms;         /* the earliest next message */
};
/* In _meta: the signed receipt of the call, a DSSE envelope; or why there is none. */
#define TC_MCP_RECEIPT "toolcage/receipt"
#define TC_MCP_NO_RECEIPT "toolcage/receipt-error"

/* One client: the agreed version and the callback for responses. */
struct tc_mcp_session {
    struct tc_mcp *server;
    const char *version;     /* agreed by initialize; NULL: not yet, or a stateless client */
    bool elicits;            /* the client asks its user on request */
    enum tc_mcp_level level; /* the lowest of log messages; SILENT: none */
    unsigned long list_seen, news_seen; /* the changes that were reported last */
    int64_t list_ms;                    /* the earliest next message about the list */
    struct tc_mcp_subscription subscriptions[TC_MCP_SUBSCRIPTIONS];
    bool keeps; /* collected files can be read later: the transport has sessions */
    struct tc_mcp_resources *resources; /* owned, NULL: none yet */
    /* Sends one complete response, without a newline. `asker` is the one that came with the
     * request; `code` is the error code, or 0. False: it cannot be stored, and the server must
     * stop. */
    bool (*send)(struct tc_mcp_session *session, void *asker, int code, const char *text,
                 size_t length);
    /* Sends a request to the client, with the stream of the request of `asker`. NULL: the transport
     * has none. */
    enum tc_mcp_told (*request)(struct tc_mcp_session *session, void *asker, const char *text,
                                size_t length);
    /* Sends one notification that belongs to the request of `asker`; NULL: to none. Never stores
     * much for a client that does not read. */
    enum tc_mcp_told (*notify)(struct tc_mcp_session *session, void *asker, const char *text,
                               size_t length);
    /* The request of `asker` gets no response: it was cancelled. NULL: not called. */
    void (*end)(struct tc_mcp_session *session, void *asker);
};

/* One request that is being answered. */
struct tc_mcp_request {
    struct tc_mcp_session *session;
    json_t *id;          /* owned */
    const char *version; /* the request's protocol version */
    bool replaced;       /* an unpaired surrogate was replaced */
    void *asker; /* the transport's handle of the request; NULL: it does not distinguish requests */
};

enum {
    TC_MCP_ASKED_SIZE = 40, /* the id of a request to the client */
    TC_MCP_STATE_SIZE = 33, /* the requestState of a question, which no other client can guess */
};

struct tc_mcp_call {
    struct tc_mcp_request request;
    struct toolcage_call *call;
    bool cancelled; /* no response is sent */
    bool forgotten; /* nothing is sent: the connection of its request is gone */
    /* The call waits for an approval of this digest, by the answer to this request; NULL: it was
     * started. */
    char *digest;
    int64_t changes; /* how many were staged at the question */
    int64_t look_ms; /* when it is looked next whether they still are */
    bool gone;       /* the last time they were not */
    unsigned long long asked;
    int64_t asked_ms;
    char state[TC_MCP_STATE_SIZE]; /* of the question, if it was a response */
    struct tc_wait *wait;          /* the answer comes from the queue instead; NULL: it does not */
    /* The call has ended, and waits for a person's decision about its staged changes, which have
     * this `digest`. */
    bool ended;
    bool asks;    /* the client can ask its user */
    bool resumes; /* its request was answered with the question; another call brings the answer */
    char *tool;   /* its name */
    json_t *arguments;             /* owned, NULL: none */
    enum tc_mcp_level level;       /* of log messages, for a stateless client */
    char *note;                    /* for the model, after the result; NULL: none */
    json_t *token;                 /* of progress; owned, NULL: the client wants none */
    int64_t since_ms, progress_ms; /* when it began; when the next message is due */
    int64_t told_ms;               /* the last message's time since then */
    struct tc_mcp_live *live;      /* owned, NULL: output is not sent while it runs */
};

/* A person's answer for the rest of the server; `count` calls were approved by it again. */
struct tc_mcp_again {
    char *digest; /* NULL: none */
    int64_t until_s, count;
};

enum {
    TC_MCP_AGAIN_MAX = 64, /* a further one replaces the oldest */
    TC_MCP_OPEN_MAX = 64
};

/* The state that all sessions share. */
struct tc_mcp {
    const struct tc_mcp_tools *what;
    struct toolcage_engine *engine; /* NULL: lost; the next call creates a new engine */
    struct toolcage_policy *policy; /* in use; owned */
    json_t *tools;                  /* in the format of tools/list */
    struct tc_mcp_reload *reload;   /* owned; NULL: the policy is not watched */
    size_t subscriptions;           /* of all sessions */
    size_t resource_bytes;          /* the same */
    unsigned long list_count;       /* how often the list of tools has changed */
    const char *news;               /* the last report about the policy; NULL: none */
    enum tc_mcp_level news_level;
    unsigned long news_count;
    struct tc_mcp_call *calls;
    size_t call_count;
    unsigned long long asked; /* requests to clients so far */
    /* questions to stateless clients that are not answered yet; the oldest is replaced */
    struct {
        char state[TC_MCP_STATE_SIZE];
        char *digest; /* NULL: none */
        int64_t asked_ms;
    } open[TC_MCP_OPEN_MAX];
    struct tc_mcp_session kept; /* of calls whose response was a question; sends nothing */
    struct tc_mcp_again again[TC_MCP_AGAIN_MAX];
    size_t again_next;
    bool replaced; /* in the last message that tc_mcp_read() returned */
    bool stopping; /* no more questions: no client is left to answer */
    bool failed;   /* no memory for a response: the client would wait forever */
};

/* A new engine if the helper was lost. 0, or negative with *err. */
static inline int tc_mcp_engine(struct tc_mcp *server, struct toolcage_error **err)
{
    return server->engine ? 0 : toolcage_engine_new(&server->engine, err);
}

/* Does an answer to a question of that time come too late? */
static inline bool tc_mcp_is_late(const struct tc_mcp *server, int64_t asked_ms)
{
    int64_t most = server->what->answer_ms;
    return most && tc_mcp_now_ms() - asked_ms >= most;
}

/* server.c. 0, or negative as tc_mcp_serve(); call tc_mcp_close() in both cases. */
int tc_mcp_open(struct tc_mcp *server, const struct tc_mcp_tools *what,
                struct toolcage_error **err);
void tc_mcp_close(struct tc_mcp *server);
/* Memory ran out, so no further message may be sent. */
bool tc_mcp_is_broken(const struct tc_mcp *server);

/* tools.c: the list of a policy's tools in *ret, owned. 0, or negative with *err. */
int tc_mcp_load_tools(struct tc_mcp *server, const struct toolcage_policy *policy, json_t **ret,
                      struct toolcage_error **err);

/* Is the tool in the list? */
bool tc_mcp_lists(const json_t *tools, const json_t *name);

/* protocol.c */
/* Is this a version that initialize can agree on? */
bool tc_mcp_is_agreed(const char *version);
/* Handles one client message. True: the message gets a response, either now or when its
 * call ends. False: the message gets none. */
bool tc_session_take(struct tc_mcp_session *session, void *asker, const char *text, size_t length);
bool tc_session_take_json(struct tc_mcp_session *session, void *asker, const json_t *message);
/* Sends an error without an id, for a message that could not be read. */
void tc_session_refuse(struct tc_mcp_session *session, void *asker, int code, const char *message);
/* The same for a message that `rescue` has read: with its id, if it is a request's. */
void tc_session_refuse_unread(struct tc_mcp_session *session, void *asker, struct tc_rescue *rescue,
                              const char *message);
/* Reads a message; unpaired surrogates are replaced. NULL: invalid, with *error. */
json_t *tc_mcp_read(struct tc_mcp *server, const char *text, size_t length, json_error_t *error);
/* Cancels the session's calls and drops their responses; the session is not used afterwards. */
void tc_session_leave(struct tc_mcp_session *session);
/* Forgets the requests with this `asker`, which is gone; `cancel` also cancels their calls. */
void tc_session_forget(struct tc_mcp_session *session, const void *asker, bool cancel);
bool tc_session_is_busy(const struct tc_mcp_session *session);

/* reply.c: send a response and release the request. Both take ownership of `result` or `data`
 * (NULL: none, or out of memory). */
void tc_mcp_answer(struct tc_mcp_request *request, json_t *result);
void tc_mcp_refuse(struct tc_mcp_request *request, int code, const char *message, json_t *data);
/* Name and version of the server, for clients. */
json_t *tc_mcp_server_info(const struct tc_mcp_session *session);
/* The result of a call; takes ownership of `content` and `meta`. */
void tc_mcp_answer_content(struct tc_mcp_request *request, json_t *content, json_t *meta,
                           bool error);
/* One element of a content; NULL: out of memory. */
json_t *tc_mcp_text_block(const char *text);
/* A result with isError, for the model. */
void tc_mcp_answer_text(struct tc_mcp_request *request, const char *text);
/* Releases a request without a response. */
void tc_mcp_drop(struct tc_mcp_request *request);

/* server.c: takes a changed policy. `due`: only if it is time to look for one. */
void tc_mcp_refresh(struct tc_mcp *server, bool due);
/* Ends the calls whose request was answered with a question: no answer can come. */
void tc_mcp_end_resumes(struct tc_mcp *server);
/* reload.c: how soon tc_mcp_refresh() must be called, in ms; -1: never. */
int tc_mcp_reload_ms(const struct tc_mcp *server);

/* news.c: messages for no call */
/* A new session knows what there is. */
void tc_session_begin_news(struct tc_mcp_session *session);
/* Sends what is new; call it often. */
void tc_session_tell_news(struct tc_mcp_session *session);
/* subscriptions/listen */
void tc_mcp_listen(struct tc_mcp_request *request, const json_t *params);
/* Is there a subscription with this id? */
bool tc_session_listens(const struct tc_mcp_session *session, const json_t *id);
/* Drops the subscription with this id; NULL: all. */
void tc_session_unlisten(struct tc_mcp_session *session, const json_t *id);
/* Ends all subscriptions with a response. */
void tc_session_end_subscriptions(struct tc_mcp_session *session);

/* content.c: a result's content for the model: the text once, then images, sounds and other files,
 * or links to them. `whole` is the result as JSON and loses these texts. NULL: out of memory. */
json_t *tc_mcp_content(const struct tc_mcp_request *request, const char *text, json_t *whole);

/* receipt.c: the receipt of a call's result */
struct tc_mcp_receipt {
    const char *key; /* of _meta; NULL: none */
    json_t *value;   /* owned; NULL: out of memory */
    char *missing;   /* a text for the model instead of the result; owned, NULL: none */
};
/* The result of a call that was refused is never replaced: it says why. */
void tc_mcp_receipt(const struct tc_mcp_call *c, const struct toolcage_result *result,
                    struct tc_mcp_receipt *ret);

/* elicit.c: approvals */
enum tc_mcp_next { TC_MCP_STARTS, TC_MCP_WAITS, TC_MCP_ANSWERED };
/* If the call needs an approval and the client can ask its user, sends the question. The call
 * waits for the answer; a stateless client's call is answered by the question, and called again
 * with the answer. If the client cannot, the call waits in the queue, if there is one. Negative:
 * failure. */
int tc_mcp_elicit(struct tc_mcp_call *c, const json_t *params, struct toolcage_error **err);
/* Can the call's client ask its user? */
bool tc_mcp_can_ask(const struct tc_mcp_request *request, const json_t *params);
/* Can a client with these capabilities show a form to its user? */
bool tc_mcp_can_elicit(const json_t *capabilities);
/* The client's response to a request; `result` NULL: an error. Starts the call that waits for it.
 */
void tc_mcp_answered(struct tc_mcp_session *session, const json_t *id, const json_t *result);

/* ask.c: questions to the client */
/* Writes a new requestState. False: the kernel gives no random bytes. */
bool tc_mcp_make_state(char state[TC_MCP_STATE_SIZE]);
/* The id of a question. */
void tc_mcp_asked_id(unsigned long long asked, char id[TC_MCP_ASKED_SIZE]);
/* Withdraws the question from the client. */
void tc_mcp_unask(struct tc_mcp_call *c);
/* Sends the question of a call that waits with c->digest; takes ownership of `params`. False: its
 * client has no stream for it, or memory ran out. */
bool tc_mcp_ask_client(struct tc_mcp_call *c, json_t *params);
/* Writes text in which the reader's terminal or window obeys nothing; `lines`: keeps newlines and
 * tabs. */
void tc_mcp_put_escaped(FILE *out, const char *text, size_t length, bool lines);
static inline void tc_mcp_put_text(FILE *out, const char *text, bool lines)
{
    tc_mcp_put_escaped(out, text, strlen(text), lines);
}
/* The same as a string; owned. NULL: out of memory. */
char *tc_mcp_escape(const char *text, size_t length);
/* The form of a question with this title: yes or no, and a reason. NULL: out of memory. */
json_t *tc_mcp_question_schema(const char *title);
#define TC_MCP_CROWDED "8 other calls wait for an approval: wait for one"
/* Do as many calls wait for a person as may? */
bool tc_mcp_is_crowded(const struct tc_mcp *server);

/* review.c: staged changes of a call that has ended */
/* Asks a person about the staged changes, if there are any. False: the
 * response does not wait. */
bool tc_mcp_review(struct tc_mcp_call *c, const struct toolcage_result *result);
/* The client's answer, which applies the changes or leaves them staged. `result` NULL: an error. */
void tc_mcp_review_answered(struct tc_mcp_call *c, const json_t *result);
/* The answer in the queue; the person's program has applied the changes. */
void tc_mcp_review_queued(struct tc_mcp_call *c, enum tc_answer answer, const char *reason);

/* Looks from time to time. True: the changes of a call that waits in the queue are no longer
 * staged.
 */
bool tc_mcp_review_gone(struct tc_mcp_call *c);
/* No answer counts from now on, because of `why` (NULL: the server ends); does nothing if there was
 * one. */
void tc_mcp_review_unanswered(struct tc_mcp_call *c, const char *why);

/* resume.c: staged changes of a stateless client's call */
/* Answers the call's request with the question; takes ownership of `params`. */
void tc_mcp_resume_ask(struct tc_mcp_call *c, json_t *params);
/* The oldest of too many calls that wait in this way, which should end; -1: none. */
ssize_t tc_mcp_resume_excess(const struct tc_mcp *server);
/* Did the request bring an answer? Then *ret_index is the call that waited for it, which gets the
 * request as its own, and *ret_result the answer; -1: no call waits for this answer. */
bool tc_mcp_resume(struct tc_mcp_request *request, const json_t *params, ssize_t *ret_index,
                   const json_t **ret_result);

/* again.c: answers for the rest of the server */
void tc_mcp_again_keep(struct tc_mcp *server, const char *digest);
/* Has a person approved requests with this digest for the rest of the server? Counts the call: how
 * many there were; 0: no. */
int64_t tc_mcp_again_count(struct tc_mcp *server, const char *digest);
void tc_mcp_again_done(struct tc_mcp *server);

/* queue.c: calls that wait in the queue of approvals */
/* Stores the request; `text` is the library's JSON. Returns as tc_mcp_elicit(). */
int tc_mcp_enqueue(struct tc_mcp_call *c, const char *text, const char *digest,
                   struct toolcage_error **err);
/* Tells the host of the call's new request. */
void tc_mcp_tell_operator(const struct tc_mcp_call *c);
/* Passes the answer on to the call, if there is one. False: it has no answer, or does not wait in
 * the queue. */
bool tc_mcp_queue_take(struct tc_mcp_call *c);
/* How soon tc_mcp_look() must be called, in ms; -1: no call waits in the queue. */
int tc_mcp_queue_ms(const struct tc_mcp *server);

/* progress.c */
/* Stores the token of a new call's request, if it has one and the transport can send messages. */
void tc_mcp_progress_begin(struct tc_mcp_call *c, const json_t *params);
/* How soon tc_mcp_progress() must be called, in ms; -1: no client wants progress. */
int tc_mcp_progress_ms(const struct tc_mcp *server);
/* Sends `text` as progress. False: it was dropped. */
bool tc_mcp_progress_text(struct tc_mcp_call *c, const char *text);
/* Sends the messages that are due. */
void tc_mcp_progress(struct tc_mcp *server);

/* notify.c: sends a notification for the request of `asker`; takes ownership of `params` (NULL: out
 * of memory). False: it was dropped. */
bool tc_mcp_notify(struct tc_mcp_session *session, void *asker, const char *method, json_t *params);

/* server.c: calls */
/* Starts a call that was added or that waited, or answers the one that has ended. It may already
 * have ended on return. */
void tc_mcp_start(struct tc_mcp *server, size_t index);
/* For poll(); -1: the call has ended, and waits for a person. */
int tc_mcp_fd(const struct tc_mcp_call *c);
void tc_mcp_call(struct tc_mcp_request *request, const json_t *params);
/* Cancels the session's call with this id; NULL: all its calls. */
void tc_mcp_cancel(struct tc_mcp_session *session, const json_t *id);
/* Cancels all calls of all sessions; each still gets its response. */
void tc_mcp_stop(struct tc_mcp *server);
/* Dispatches the index-th call. A call that has ended is answered and removed from the list. */
void tc_mcp_dispatch(struct tc_mcp *server, size_t index);
/* Starts the calls whose answer is in the queue. */
void tc_mcp_look(struct tc_mcp *server);
/* The helper process has exited: every running call gets an error response. */
void tc_mcp_lost(struct tc_mcp *server);

#endif
