"""What the formats for the Vertex AI evaluation client share: parts, contents, columns, and what the client refuses."""
