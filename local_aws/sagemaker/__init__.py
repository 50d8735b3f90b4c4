"""SageMaker on this machine: endpoints, queues and transform jobs that start real containers' programs."""
