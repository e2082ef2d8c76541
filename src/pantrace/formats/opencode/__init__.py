"""OpenCode: databases, storage trees of every generation, exports and run streams.

Spec: https://opencode.ai/docs and the schemas of its source (packages/schema/src/v1/session.ts).
Detect: SQLite with the tables session, message, part; `storage/session`; `project/*/storage/session/info`; JSON with
`info` and `messages`; lines with `type`, `timestamp`, `sessionID` and `part` or `error`.
Lost: for OpenCode's own tools: cases, scores, references, GUI actions and citations, which it has no fields for. They
are kept under the key `pantrace` of an export.
"""

from .format import FORMAT

__all__ = ["FORMAT"]
