"""The tables of the lab's database. Columns are only ever added."""

VERSION = 1

TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL,
  device TEXT NOT NULL,
  chat TEXT NOT NULL,
  parameters TEXT NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  progress REAL NOT NULL DEFAULT 0,
  stage TEXT NOT NULL DEFAULT '',
  message TEXT NOT NULL DEFAULT '',
  left_s REAL,
  paused INTEGER NOT NULL DEFAULT 0,
  output TEXT,
  result TEXT,
  error TEXT,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  seen_at INTEGER,
  cancel_at INTEGER,
  retry_of TEXT,
  host TEXT,
  pid INTEGER,
  process_s REAL
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, created_at);
CREATE TABLE IF NOT EXISTS servers (
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process_s REAL NOT NULL,
  busy INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (host, pid)
) STRICT;
"""
