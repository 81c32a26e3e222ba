#!/bin/sh
# What Lambda runs as `Handler`, by way of the Lambda Web Adapter, in the function's own folder; the local stack runs it
# in the same way.

# The layer goes before what the runtime brings (/var/runtime holds an older boto3 and its dependencies). The adapter
# starts us in place of Python's own entry point, which would have added /opt/python.
export PYTHONPATH="/opt/python${PYTHONPATH:+:$PYTHONPATH}"

# exec                      the process that gets Lambda's SIGTERM, or a Ctrl-C, is the server, not a shell.
# --host 127.0.0.1          only the adapter beside us may ask: it alone has passed the function URL.
# --port                    where the adapter forwards to, said once, in template.yaml.
# --timeout-keep-alive 75   longer than a client keeps an idle connection, so that it never writes into a closing one.
# --timeout-graceful-…      a stream that is still open when SIGTERM comes may tell its reader so, and no longer.
# --no-access-log           a path names a conversation; the turn writes its own line, with its run_id.
exec python -m uvicorn app:app \
    --host 127.0.0.1 \
    --port "${AWS_LWA_PORT:?is set in template.yaml}" \
    --timeout-keep-alive 75 \
    --timeout-graceful-shutdown 3 \
    --no-access-log
