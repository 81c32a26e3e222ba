"""The OpenAPI document of the API, made once a process: it takes a second."""

from functools import cache

from infra.openapi import document

api_document = cache(document)
