"""Code that several formats share: vocabularies such as OpenAI's messages, and mechanics such as files and JSON."""
