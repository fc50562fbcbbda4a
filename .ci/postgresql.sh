#!/usr/bin/env bash
# Starts a PostgreSQL of the system on a free port, in a temporary folder, runs a command with its
# address in DPCOV_TEST_POSTGRESQL, and stops it. The server refuses to run as root: root starts it
# as the user postgres, or nobody.
set -euo pipefail

bin="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1 || true)"
if [ -z "$bin" ]; then
  bin="$(dirname "$(command -v initdb || true)")"
fi
if [ ! -x "$bin/initdb" ] || [ ! -x "$bin/postgres" ]; then
  echo "There is no PostgreSQL here: apt-get install postgresql." >&2
  exit 77
fi

as_server=()   # and unset to bash 3 of macOS as long as it is empty
if [ "$(id -u)" -eq 0 ]; then
  user="$(id -un postgres 2>/dev/null || echo nobody)"
  as_server=(setpriv --reuid "$user" --regid "$(id -gn "$user")" --clear-groups)
fi
folder="$(mktemp -d)"
chmod 755 "$folder"
mkdir "$folder/server"
if [ "$(id -u)" -eq 0 ]; then
  chown "$user" "$folder/server"
fi
server=""
finish() {
  if [ -n "$server" ]; then
    kill -INT "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$folder"
}
trap finish EXIT

port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
(
  cd "$folder/server"
  ${as_server[@]+"${as_server[@]}"} "$bin/initdb" --pgdata data --username dpcov --auth trust --encoding UTF8 \
    --locale C >/dev/null
)
cd_back="$PWD"
cd "$folder/server"
${as_server[@]+"${as_server[@]}"} "$bin/postgres" -D data -p "$port" -c listen_addresses=127.0.0.1 \
  -c unix_socket_directories= -c max_connections=200 >"$folder/log" 2>&1 &
server=$!
cd "$cd_back"
for _ in $(seq 100); do
  if "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; then
    break
  fi
  sleep 0.1
done
if ! "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; then
  cat "$folder/log" >&2
  exit 1
fi
DPCOV_TEST_POSTGRESQL="postgresql://dpcov@127.0.0.1:$port/postgres" "$@"
